#include "actors/api/http/read_options.hpp"

#include <algorithm>
#include <charconv>

#include "runtime/base/duration.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::api {
namespace {

constexpr std::chrono::nanoseconds longest_wait{std::chrono::minutes{5}};

template <class Number>
bool read_decimal(std::string_view text, Number& number) {
  const auto* end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc{} && stopped == end && !text.empty();
}

Result<> parse_blocking(const net::Request& request, ReadOptions& options) {
  if (const auto* wait = request.parameter("wait"); wait != nullptr && !wait->empty()) {
    const auto parsed = parse_duration(*wait);
    if (!parsed) return Error{Errc::invalid_argument, "Invalid wait time"};
    if (parsed->count() > 0) options.wait = std::min(*parsed, longest_wait);
  }
  if (const auto* index = request.parameter("index"); index != nullptr && !index->empty())
    if (!read_decimal(*index, options.min_index))
      return Error{Errc::invalid_argument, "Invalid index"};
  return {};
}

Error index_error(std::string_view what, std::string_view why) {
  const auto begin = what.empty() ? std::string{} : std::string{what} + " lookup failed: ";
  return {Errc::rejected, begin + "index error: " + std::string{why}};
}

}  // namespace

Result<ReadOptions> parse_read_options(const net::Request& request) {
  ReadOptions options;
  if (request.query.empty()) return options;
  if (const auto* ns = request.parameter("namespace"); ns != nullptr && !ns->empty())
    options.ns = *ns;
  options.region = request.parameter_or_empty("region");
  options.prefix = request.parameter_or_empty("prefix");
  options.filter = request.parameter_or_empty("filter");
  options.fields = query::Members{request.parameter_or_empty("fields")};
  const auto token = request.parameter_or_empty("next_token");
  options.next_token = net::percent_decode(token, false).value_or(std::string{token});
  options.reverse = request.parameter_or_empty("reverse") == "true";
  if (const auto* per_page = request.parameter("per_page");
      per_page != nullptr && !read_decimal(*per_page, options.per_page))
    options.per_page = 0;
  if (const auto* stale = request.parameter("stale"); stale != nullptr) {
    const auto value = parse_bool(stale->empty() ? "true" : *stale);
    if (!value)
      return Error{Errc::invalid_argument,
                   "Expect `true` or `false` for `stale` query string parameter, got " + *stale};
    options.stale = *value;
  }
  NOMAD_TRY(parse_blocking(request, options));
  return options;
}

Result<bool> bool_parameter(const net::Request& request, std::string_view name, bool absent) {
  const auto* text = request.parameter(name);
  if (text == nullptr || text->empty()) return absent;
  const auto value = parse_bool(*text);
  if (!value)
    return Error{Errc::rejected, "Failed to parse value of \"" + std::string{name} + "\" (" + *text
                                     + ") as a bool: " + value.error().what};
  return *value;
}

Result<> check_id_prefix(std::string_view what, const ReadOptions& options) {
  const auto checked = check_uuid_prefix(options.prefix);
  if (checked) return {};
  return index_error(what, checked.error().what);
}

Result<> check_id(std::string_view what, std::string_view id) {
  if (is_uuid(id)) return {};
  const auto checked = check_uuid_prefix(id);
  const bool is_short = id.size() != 36 || checked;
  return index_error(what, is_short ? "UUID must be 36 characters" : checked.error().what);
}

}  // namespace nomad::api
