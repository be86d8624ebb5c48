#include "actors/api/http/request_body.hpp"

#include <charconv>

#include "runtime/base/text.hpp"

namespace nomad::api {
namespace {

bool same_name(std::string_view left, std::string_view right) {
  return net::same_header(left, right);  // both fold ASCII only
}

Error bad(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

/// "'x'": the character at which the text stopped being JSON.
std::string character_at(std::string_view text, std::size_t byte) {
  return '\'' + std::string{text.substr(byte, 1)} + '\'';
}

bool ends_early(std::string_view text, const JsonStop& stop) {
  return stop.why == JsonStop::Why::incomplete || stop.byte >= text.size();
}

/// Go's words for text that is not JSON.
Error explain(std::string_view text, const Error& error, const JsonStop& stop) {
  if (ends_early(text, stop)) return bad("unexpected EOF");
  if (stop.why != JsonStop::Why::syntax) return bad(error.what);
  return bad("invalid character " + character_at(text, stop.byte)
             + " looking for beginning of value (byte " + std::to_string(stop.byte) + ')');
}

}  // namespace

Result<FlatJson> parse_value(std::string_view text) {
  JsonStop stop;
  auto parsed
      = FlatJson::read(text, FlatJson::request_depth, std::pmr::get_default_resource(), &stop);
  if (parsed) return parsed;
  if (ends_early(text, stop)) return bad("unexpected end of JSON input");
  const bool is_behind = stop.why == JsonStop::Why::text_behind;
  return bad("invalid character " + character_at(text, stop.byte)
             + (is_behind ? " after top-level value" : " looking for beginning of value"));
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

bool is_chunked(const net::Request& request) {
  return !request.header("Transfer-Encoding").empty();
}

Result<FlatJson> read_body(const net::Request& request, std::pmr::memory_resource* memory) {
  if (request.body.empty() && !is_chunked(request)) return bad("Request body is empty");
  if (trim(request.body, file_space).empty()) return bad("EOF");  // Go's word
  JsonStop stop;
  auto parsed = FlatJson::read(request.body, FlatJson::request_depth, memory, &stop);
  if (!parsed) return explain(request.body, parsed.error(), stop);
  const JsonNode& root = parsed->root();
  if (!root.is(JsonKind::object) && !root.is(JsonKind::null))
    return bad("json: cannot unmarshal " + std::string{go_kind(root)}
               + " into Go value of a request");
  return parsed;
}

const JsonNode* BodyFields::find(std::string_view name) const {
  const JsonNode* exact = nullptr;
  const JsonNode* folded = nullptr;
  for (const auto member : body_.members()) {
    if (member.key == name) exact = &member.value;
    if (folded == nullptr && same_name(member.key, name)) folded = &member.value;
  }
  const JsonNode* found = exact != nullptr ? exact : folded;
  return found != nullptr && !found->is(JsonKind::null) ? found : nullptr;
}

void BodyFields::mismatch(std::string_view name, const JsonNode& value, std::string_view go_type) {
  if (error_) return;
  error_
      = Error{Errc::invalid_argument, "json: cannot unmarshal " + std::string{go_kind(value)}
                                          + " into Go struct field " + std::string{type_} + '.'
                                          + std::string{name} + " of type " + std::string{go_type}};
}

const JsonNode* BodyFields::expect(std::string_view name, JsonKind kind, std::string_view go_type) {
  const JsonNode* value = find(name);
  if (value == nullptr || value->is(kind)) return value;
  mismatch(name, *value, go_type);
  return nullptr;
}

std::string BodyFields::text(std::string_view name) {
  const JsonNode* value = expect(name, JsonKind::text, "string");
  return value == nullptr ? std::string{} : std::string{value->text()};
}

bool BodyFields::boolean(std::string_view name) {
  const JsonNode* value = expect(name, JsonKind::boolean, "bool");
  return value != nullptr && value->boolean;
}

std::int64_t BodyFields::integer(std::string_view name) {
  const JsonNode* value = find(name);
  if (value == nullptr) return 0;
  if (const auto number = value->whole<std::int64_t>()) return *number;
  mismatch(name, *value, "int");
  return 0;
}

std::optional<std::uint64_t> BodyFields::maybe_unsigned(std::string_view name) {
  const JsonNode* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = value->whole<std::uint64_t>();
  if (!number) mismatch(name, *value, "uint64");
  return number;
}

std::uint64_t BodyFields::unsigned_integer(std::string_view name) {
  return maybe_unsigned(name).value_or(0);
}

const JsonNode* BodyFields::object(std::string_view name) {
  return expect(name, JsonKind::object, "object");
}

const JsonNode* BodyFields::array(std::string_view name) {
  return expect(name, JsonKind::array, "array");
}

std::vector<std::pair<std::string, std::string>> BodyFields::texts() {
  std::vector<std::pair<std::string, std::string>> found;
  for (const JsonNode* key : sorted_keys(body_)) {
    const JsonNode& value = key[1];
    if (!value.is(JsonKind::text) && !value.is(JsonKind::null))
      mismatch(key->text(), value, "string");
    found.emplace_back(key->text(), value.text());
  }
  return found;
}

Result<> BodyFields::check() const {
  if (error_) return *error_;
  return {};
}

}  // namespace nomad::api
