// Conversion between types and the type that several values have in common, by HCL's rules.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/hcl/value/value.hpp"

namespace nomad::hcl {

/// Why a value cannot become another type, in the words HCL uses ("a number is required",
/// "attribute \"x\" is required"), with the way to the element at fault (".a[0]", may be empty).
struct ConversionError {
  std::string message;
  std::string path;
};

using Converted = std::variant<Value, ConversionError>;

/// `value` as `type`. `dynamic` inside `type` accepts anything. Elements of collections are
/// converted; object attributes that `type` does not have are dropped.
Converted convert(const Value& value, const Type& type);

/// Whether every value of `from` may be converted to `to` (safely, if `unsafe` is false).
bool is_convertible(const Type& from, const Type& to, bool unsafe = true);

/// Why no value of type `got` can be `want`: "list of string required".
std::string mismatch_message(const Type& got, const Type& want);

/// The type that all `types` convert to safely; nothing when there is none.
std::optional<Type> unify(const std::vector<Type>& types);
/// The same, also by unsafe conversions.
std::optional<Type> unify_unsafe(const std::vector<Type>& types);

}  // namespace nomad::hcl
