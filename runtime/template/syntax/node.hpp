// The tree of a parsed template: one kind of node, of which each kind uses what it needs.
//
// | kind       | text               | names               | nodes |
// |------------|--------------------|---------------------|----------------------------------------|
// | list       |                    |                     | what it consists of | | text       | as
// it is           |                     |                                        | | action     |
// |                     | pipeline                               | | if, with, range | | |
// pipeline, list, list of the else       | | template   | name               | | pipeline, if any |
// | pipeline   |                    | declared variables  | commands | | command    | | |
// arguments, the first is what it calls  | | chain      |                    | fields | what has
// the fields                    | | field      |                    | names               | | |
// variable   |                    | "$x", then fields   |                                        |
// | identifier | name               |                     | | | boolean, number, string | as
// written |                |                                        |
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/template/value/value.hpp"

namespace nomad::templates {

enum class NodeKind : std::uint8_t {
  list,
  text,
  action,
  if_,
  with,
  range,
  break_,
  continue_,
  template_,
  pipeline,
  command,
  chain,
  field,
  variable,
  identifier,
  dot,
  nil,
  boolean,
  number,
  string,
  else_mark,  ///< Only while parsing.
  end_mark,   ///< Only while parsing.
};

/// What a number in a template may be, like Go's constants without a type.
struct Number {
  bool is_integer = false;
  bool is_natural = false;
  bool is_number = false;
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  double number = 0;
};

/// A boolean, number or string of a template.
struct Constant {
  Value value{};  ///< Of a number, what it is where any type will do; nil if that is too large.
  Number number{};
};

struct Node {
  NodeKind kind;
  std::uint32_t position;      ///< In bytes, in the text of its template.
  bool is_assignment = false;  ///< Of a pipeline: its variables are set, not declared.
  std::string text{};
  std::shared_ptr<const Constant> constant{};  ///< Of booleans, numbers and strings.
  std::vector<std::string> names{};
  std::vector<Node> nodes{};

  /// As messages show it: near to how it was written.
  std::string shown() const;
};

}  // namespace nomad::templates
