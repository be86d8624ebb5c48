#include "actors/api/http/request_body.hpp"

#include <algorithm>
#include <charconv>

#include <boost/json.hpp>

#include "runtime/object/json_codec.hpp"

namespace nomad::api {
namespace {

namespace json = boost::json;

bool same_name(std::string_view left, std::string_view right) {
  return net::same_header(left, right);  // both fold ASCII only
}

Error bad(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

/// Where the parser stopped, as it says: "byte 17: …".
std::optional<std::size_t> place_of(const Error& error) {
  if (!error.what.starts_with("byte ")) return {};
  std::size_t place = 0;
  for (const char c : std::string_view{error.what}.substr(5)) {
    if (c < '0' || c > '9') break;
    place = place * 10 + static_cast<std::size_t>(c - '0');
  }
  return place;
}

/// Go's words for text that is not JSON.
Error explain(std::string_view text, const Error& error) {
  const auto stopped = place_of(error);
  if (!stopped) return bad(error.what);
  const auto place = *stopped;
  if (error.what.find("incomplete") != std::string::npos || place >= text.size())
    return bad("unexpected EOF");
  if (error.what.find("syntax") == std::string::npos) return bad(error.what);
  return bad("invalid character '" + std::string{text.substr(place, 1)}
             + "' looking for beginning of value (byte " + std::to_string(place) + ')');
}

}  // namespace

std::string_view go_kind(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "bool";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "number";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "array";
    case json::kind::object:
      return "object";
  }
  return "value";
}

Result<json::value> parse_value(std::string_view text) {
  auto parsed = parse_json(text);
  if (parsed) return parsed;
  const auto place = place_of(parsed.error());
  if (!place) return bad(parsed.error().what);
  if (*place >= text.size() || parsed.error().what.find("incomplete") != std::string::npos)
    return bad("unexpected end of JSON input");
  const bool is_behind = parsed.error().what.find("unexpected text") != std::string::npos;
  return bad("invalid character '" + std::string{text.substr(*place, 1)}
             + (is_behind ? "' after top-level value" : "' looking for beginning of value"));
}

Result<std::optional<std::uint64_t>> check_index(const net::Request& request) {
  const auto given = request.parameter_or_empty("cas");
  if (given.empty()) return std::optional<std::uint64_t>{};
  std::uint64_t index = 0;
  const auto* end = given.data() + given.size();
  const auto [stopped, failure] = std::from_chars(given.data(), end, index);
  const bool is_number = stopped == end && failure != std::errc::invalid_argument;
  if (is_number && failure == std::errc{}) return std::optional{index};
  return Error{Errc::invalid_argument,
               "strconv.ParseUint: parsing \"" + std::string{given}
                   + (is_number ? "\": value out of range" : "\": invalid syntax")};
}

Result<json::object> body_object(const net::Request& request, json::storage_ptr storage) {
  if (request.body.empty()) return Error{Errc::invalid_argument, "Request body is empty"};
  if (storage.get() == json::storage_ptr{}.get())  // a tree is freed at once, not piece by piece
    storage = json::make_shared_resource<json::monotonic_resource>(4 * request.body.size());
  auto parsed = parse_json(request.body, storage);
  if (!parsed) return explain(request.body, parsed.error());
  if (parsed->is_null()) return json::object{storage};
  if (!parsed->is_object())
    return Error{Errc::invalid_argument, "json: cannot unmarshal " + std::string{go_kind(*parsed)}
                                             + " into Go value of a request"};
  return std::move(parsed->get_object());
}

const json::value* BodyFields::find(std::string_view name) const {
  const auto* exact = body_.if_contains({name.data(), name.size()});
  if (exact == nullptr) {
    const auto folded = std::find_if(body_.begin(), body_.end(), [name](const auto& member) {
      return same_name({member.key().data(), member.key().size()}, name);
    });
    if (folded != body_.end()) exact = &folded->value();
  }
  return exact != nullptr && !exact->is_null() ? exact : nullptr;
}

void BodyFields::mismatch(std::string_view name,
                          const json::value& value,
                          std::string_view go_type) {
  if (error_) return;
  error_
      = Error{Errc::invalid_argument, "json: cannot unmarshal " + std::string{go_kind(value)}
                                          + " into Go struct field " + std::string{type_} + '.'
                                          + std::string{name} + " of type " + std::string{go_type}};
}

std::string BodyFields::text(std::string_view name) {
  const auto* value = find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get_string().data(), value->get_string().size()};
  mismatch(name, *value, "string");
  return {};
}

bool BodyFields::boolean(std::string_view name) {
  const auto* value = find(name);
  if (value == nullptr) return false;
  if (value->is_bool()) return value->get_bool();
  mismatch(name, *value, "bool");
  return false;
}

std::int64_t BodyFields::integer(std::string_view name) {
  const auto* value = find(name);
  if (value == nullptr) return 0;
  json::error_code failure;
  if (value->is_number()) {
    const auto number = value->to_number<std::int64_t>(failure);
    if (!failure) return number;
  }
  mismatch(name, *value, "int");
  return 0;
}

std::optional<std::uint64_t> BodyFields::maybe_unsigned(std::string_view name) {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  json::error_code failure;
  if (value->is_number()) {
    const auto number = value->to_number<std::uint64_t>(failure);
    if (!failure) return number;
  }
  mismatch(name, *value, "uint64");
  return std::nullopt;
}

std::uint64_t BodyFields::unsigned_integer(std::string_view name) {
  return maybe_unsigned(name).value_or(0);
}

const json::object* BodyFields::object(std::string_view name) {
  const auto* value = find(name);
  if (value == nullptr) return nullptr;
  if (value->is_object()) return &value->get_object();
  mismatch(name, *value, "object");
  return nullptr;
}

const json::array* BodyFields::array(std::string_view name) {
  const auto* value = find(name);
  if (value == nullptr) return nullptr;
  if (value->is_array()) return &value->get_array();
  mismatch(name, *value, "array");
  return nullptr;
}

Result<> BodyFields::check() const {
  if (error_) return *error_;
  return {};
}

}  // namespace nomad::api
