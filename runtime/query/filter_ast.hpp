// What a filter expression says, after parsing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace nomad::query {

/// The steps from the filtered object to a value: field names, map keys and list positions.
struct Selector {
  std::vector<std::string> path;
  bool is_pointer = false;  ///< Written "/A/b" rather than A.b.

  /// As messages show it: A.b, or A/b of a pointer.
  std::string text() const;
};

enum class MatchOp : std::uint8_t {
  equal,
  not_equal,
  in,
  not_in,
  is_empty,
  is_not_empty,
  matches,
  not_matches,
};

struct Expression {
  enum class Kind : std::uint8_t { match, negation, conjunction, disjunction, any, all };

  Kind kind = Kind::match;
  std::shared_ptr<const Expression> left;   ///< Also the operand of a negation or of any/all.
  std::shared_ptr<const Expression> right;  ///< Of and/or.

  Selector selector;  ///< Of a match, any or all.
  MatchOp op = MatchOp::equal;
  std::string value;  ///< What a match compares with, unquoted.

  // Names that any/all give to each element; empty when not asked for.
  std::string element_name;  ///< A list's element, or a map's key.
  std::string index_name;
  std::string value_name;
};

}  // namespace nomad::query
