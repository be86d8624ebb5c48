// Request bodies: JSON objects whose members are found as Go's decoder finds them, without regard
// to case, and refused in its words.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/net/http/http_message.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/flat_json.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::api {

/// The body, an object or null, which stands for an empty one. "Request body is empty"; "invalid
/// character 'x' …". The request and `memory`, in which the body is laid out, must outlive the
/// result.
Result<FlatJson> read_body(const net::Request& request,
                           std::pmr::memory_resource* memory = std::pmr::get_default_resource());

/// Whether the body came without its length: one of no bytes is not "empty" for Go then.
bool is_chunked(const net::Request& request);

/// Any value, with the errors of Go's Unmarshal: "unexpected end of JSON input". `text` must
/// outlive the result.
Result<FlatJson> parse_value(std::string_view text);

/// The query's "cas"; empty without one. The error is strconv's, for the caller to introduce.
Result<std::optional<std::uint64_t>> check_index(const net::Request& request);

/// The whole body as one object. Its indexes are as the request says.
template <class T>
Result<Object<T>> read_object(const net::Request& request) {
  const auto body = NOMAD_TRY(read_body(request));
  Draft<T> draft;
  NOMAD_TRY(from_json(body.root(), *draft));
  return draft.freeze();
}

/// Fields of a request type, for reading and for messages.
class BodyFields {
public:
  /// `type` is Go's name of the request, as in `… into Go struct field JobPlanRequest.Diff …`.
  /// `body` must outlive this.
  BodyFields(const JsonNode& body, std::string_view type) : body_{body}, type_{type} {}

  BodyFields(const FlatJson& body, std::string_view type) : BodyFields{body.root(), type} {}

  /// The member called `name`; null when absent or null.
  const JsonNode* find(std::string_view name) const;

  // Absent members are zero. A wrong type is remembered and told by `error`.
  std::string text(std::string_view name);
  bool boolean(std::string_view name);
  std::int64_t integer(std::string_view name);
  std::uint64_t unsigned_integer(std::string_view name);
  std::optional<std::uint64_t> maybe_unsigned(std::string_view name);
  const JsonNode* object(std::string_view name);
  const JsonNode* array(std::string_view name);

  /// Of a map from names to texts: all of its members, by name. One that is null is "".
  std::vector<std::pair<std::string, std::string>> texts();

  /// The first mismatch: `json: cannot unmarshal string into Go struct field …`.
  Result<> check() const;

private:
  const JsonNode* expect(std::string_view name, JsonKind kind, std::string_view go_type);
  void mismatch(std::string_view name, const JsonNode& value, std::string_view go_type);

  const JsonNode& body_;
  std::string_view type_;
  std::optional<Error> error_;
};

}  // namespace nomad::api
