// What the families of functions share: errors, what both consul-template and sprig have, and
// sprig's loose conversions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/template/eval/context.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::templates {

Error too_long();

// In the words of Go's run time.
Error nil_pointer();
Error divided_by_zero();

/// consul-template's parseInt: 0 of an empty text.
Result<std::int64_t> parse_int64(std::string_view text);

/// `replace_all`, which is paid for before it is done.
Result<Value> replaced(Context& context,
                       std::string_view from,
                       std::string_view to,
                       std::string_view text);

std::string sha256_hex(std::string_view text);

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
