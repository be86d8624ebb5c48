// Parses the text of a template into trees: its own and those that `define` and `block` name in it.
//
// Errors have the words of Go's text/template: `template: NAME:LINE: unexpected "}" in operand`.
// Nesting is bounded (`max_nesting`), so that no text makes the parser or what walks the tree run
// out of stack.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/template/syntax/lexer.hpp"
#include "runtime/template/syntax/node.hpp"

namespace nomad::templates {

/// How deep actions and parentheses may be nested in one another.
inline constexpr int max_nesting = 200;

/// Trees by their names. One that only comments and white space are in gives way to another of its
/// name.
using TreeSet = std::map<std::string, Node, std::less<>>;

struct ParseOptions {
  Delimiters delimiters{};
  /// Whether there is a function of that name.
  std::function<bool(std::string_view)> has_function{};
};

Result<TreeSet> parse_template(std::string_view name,
                               std::string_view text,
                               const ParseOptions& options);

/// Whether there is nothing in the tree but comments and white space.
bool is_empty_tree(const Node& tree);

}  // namespace nomad::templates
