// BodyParser: bodies, attributes and blocks of native HCL.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/hcl/syntax/token_reader.hpp"

namespace nomad::hcl {

class BodyParser {
public:
  explicit BodyParser(TokenReader& in) : in_{in} {}

  /// A body up to and with the token `end`.
  const BodyNode* parse(TokenType end);

private:
  struct Items;
  void parse_body_item(Items& items);
  AttributeNode finish_attribute(Token name, bool single_line);
  const BlockNode* finish_block(Token name);
  bool parse_labels(std::vector<std::string_view>& labels, std::vector<Span>& spans, Token& brace);
  const BodyNode* parse_single_attribute_body();
  const BodyNode* parse_block_body();
  void close_single_line();
  void add_attribute(Items& items, AttributeNode attribute);

  TokenReader& in_;
};

}  // namespace nomad::hcl
