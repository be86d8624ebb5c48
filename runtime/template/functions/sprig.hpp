// What the families of sprig share: its loose conversions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/template/eval/context.hpp"

namespace nomad::templates {

/// sprig's strval: a text is itself, anything else as %v.
Result<std::string> text_of(Context& context, const Value& value);

/// sprig's strslice: the texts of a list's items but nil, or of a single value.
Result<std::vector<std::string>> texts_of(Context& context, const Value& value);

/// spf13/cast's ToInt64 and ToFloat64: 0 for what is no number.
std::int64_t integer_of(const Value& value);
double number_of(const Value& value);

/// reflect.Kind of a value: "string", "slice", "map", "ptr", "invalid".
std::string_view kind_name(const Value& value);

}  // namespace nomad::templates
