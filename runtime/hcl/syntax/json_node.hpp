// The tree of a JSON file; what a value means is decided when a body or expression reads it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/hcl/syntax/ast.hpp"
#include "runtime/hcl/syntax/diagnostic.hpp"

namespace nomad::hcl {

struct JsonProperty;

struct JsonNode {
  enum class Kind : std::uint8_t { invalid, null, boolean, number, string, array, object };

  Kind kind = Kind::invalid;
  Span span;
  Span open;                                 ///< bracket or brace
  Span close;                                ///< brace
  std::string_view text;                     ///< string, unescaped
  const Value* value = nullptr;              ///< boolean, number
  std::span<const JsonExpr> element_exprs;   ///< array
  std::span<const JsonProperty> properties;  ///< object

  /// Where mistakes with it are reported.
  Span start() const { return kind == Kind::array || kind == Kind::object ? open : span; }
};

struct JsonProperty {
  std::string_view name;
  Span name_span;
  JsonExpr name_expr;
  JsonExpr value_expr;

  const JsonNode& value() const { return *value_expr.node; }
};

class TreeBuilder;

/// Parses the builder's file. Never null; after errors an empty object.
const JsonNode* parse_json_tree(TreeBuilder& builder, Diagnostics& diagnostics);

}  // namespace nomad::hcl
