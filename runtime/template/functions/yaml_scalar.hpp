// What a plain scalar of YAML stands for (YAML 1.1, as gopkg.in/yaml.v2 has it): null, a boolean, a
// number, a time, or a text.
#pragma once

#include <string_view>

#include "runtime/template/value/value.hpp"

namespace nomad::templates {

/// The value; a time is its text, see `is_plain_text`.
Value resolve_scalar(std::string_view text);

/// Whether the text reads back as itself when it is written without quotes.
bool is_plain_text(std::string_view text);

/// Go's order of keys: numbers within texts by their size, "a2" before "a10".
bool is_before(const Value& a, const Value& b);

}  // namespace nomad::templates
