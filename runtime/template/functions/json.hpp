// JSON as Go's encoding/json reads it into an interface{} and writes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/template/eval/context.hpp"

namespace nomad::templates {

/// All numbers are float64. Errors have Go's words: "invalid character '}' looking for beginning of
/// value". Each value costs a step.
Result<Value> read_json(Context& context, std::string_view text);

struct JsonStyle {
  bool escapes_html = true;  ///< <, > and & as \u003c, \u003e and \u0026.
  bool is_pretty = false;    ///< Two spaces for each level.
};

/// Fails with `too_large` beyond `limit` bytes.
Result<std::string> write_json(const Value& value, const JsonStyle& style, std::size_t limit);

}  // namespace nomad::templates
