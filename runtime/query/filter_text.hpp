// The texts of filter expressions as they are written: quoted strings, and segments of pointers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nomad::query {

/// Go's strconv.Unquote for the two kinds of quotes that the grammar has; nothing if an escape is
/// wrong. `quoted` has its quotes.
std::optional<std::string> unquote(std::string_view quoted);

/// "~1" is '/' and "~0" is '~' in a JSON pointer.
std::string unescape_pointer(std::string_view segment);

}  // namespace nomad::query
