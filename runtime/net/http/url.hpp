// URLs as Go's net/url and ServeMux treat them, because clients were written against those:
// escaping, query parsing and path cleaning.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nomad::net {

/// Parameters in the order of the query string, decoded. Names may repeat.
using QueryParameters = std::vector<std::pair<std::string, std::string>>;

/// Undoes %XX escapes; with `plus_is_space` also '+'. Nothing when an escape is malformed.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);

/// Parses "a=1&b=x%20y" into `out`, which is cleared first. Malformed pairs are left out, as Go
/// does, also those with ';'.
void parse_query(std::string_view query, QueryParameters& out);

/// Go's path cleaning in ServeMux: resolves "." and "..", removes double slashes, keeps a
/// trailing slash. Begins with '/'.
std::string clean_path(std::string_view path);

/// Whether `clean_path` would return `path` unchanged; does not allocate.
bool is_clean_path(std::string_view path);

}  // namespace nomad::net
