// ExpressionParser: operators, terms and what follows a term, and calls. What stands in brackets
// and braces is CollectionParser's.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/hcl/syntax/token_reader.hpp"

namespace nomad::hcl {

class ExpressionParser {
public:
  explicit ExpressionParser(TokenReader& in) : in_{in} {}

  const Expression* parse();
  /// An expression that takes up all tokens, newlines ignored.
  const Expression* parse_whole();

private:
  const Expression* parse_binary(int level);
  const Expression* parse_with_traversals();
  const Expression* parse_traversals(const Expression* from);
  class Chain;
  void parse_dot(Chain& chain);
  void parse_attribute_splat(Chain& chain, Token dot);
  bool parse_splat_steps(Span star, std::vector<Step>& steps, Span& last);
  void parse_bracket(Chain& chain);
  void parse_full_splat(Chain& chain, Token open);
  Step legacy_index(Token dot, Span at, bool splat);
  const Expression* parse_term();
  const Expression* parse_parentheses();
  const Expression* parse_name();
  const Expression* parse_unary(UnaryOp op);
  const Expression* parse_call(Token name);
  const Value* number_value(Token token);

  TokenReader& in_;
};

}  // namespace nomad::hcl
