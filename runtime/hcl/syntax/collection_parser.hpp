// CollectionParser: what stands in brackets and braces: tuples, objects, and `for` in either.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/hcl/syntax/token_reader.hpp"

namespace nomad::hcl {

class CollectionParser {
public:
  explicit CollectionParser(TokenReader& in) : in_{in} {}

  /// From its opening bracket on.
  const Expression* parse_tuple();
  /// From its opening brace on.
  const Expression* parse_object();

private:
  bool parse_object_item(std::vector<ObjectItem>& items, Token& close);
  void report_missing_separator(Token next);
  const Expression* parse_for(Token open);
  bool parse_for_names(std::string_view& key, std::string_view& value);
  const Expression* abandon_for(Token open);
  void check_for(const ForExpr& loop, Token open, Token ellipsis);

  TokenReader& in_;
};

}  // namespace nomad::hcl
