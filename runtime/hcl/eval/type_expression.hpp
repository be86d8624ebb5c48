// Type expressions: `string`, `list(number)`, `object({a = string})` in a variable's `type`.
#pragma once

#include "runtime/hcl/syntax/ast.hpp"
#include "runtime/hcl/syntax/diagnostic.hpp"
#include "runtime/hcl/value/type.hpp"

namespace nomad::hcl {

struct ParsedType {
  Type type;
  Diagnostics diagnostics;
};

/// `constraint` allows `any`; otherwise the type must be exact.
ParsedType parse_type(const Expression& expression, bool constraint);

}  // namespace nomad::hcl
