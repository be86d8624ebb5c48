// Request bodies: JSON objects whose members are found as Go's decoder finds them, without regard
// to case, and refused in its words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "runtime/base/result.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::api {

/// The body as an object. "Request body is empty"; "invalid character 'x' …".
/// `storage` is where the object lives, if not in ordinary memory.
Result<boost::json::object> body_object(const net::Request& request,
                                        boost::json::storage_ptr storage = {});

/// Any value, with the errors of Go's Unmarshal: "unexpected end of JSON input".
Result<boost::json::value> parse_value(std::string_view text);

/// What Go's errors call a value: "number", "object".
std::string_view go_kind(const boost::json::value& value);

/// The query's "cas"; empty without one. The error is strconv's, for the caller to introduce.
Result<std::optional<std::uint64_t>> check_index(const net::Request& request);

/// Fields of a request type, for reading and for messages.
class BodyFields {
public:
  /// `type` is Go's name of the request, as in `… into Go struct field JobPlanRequest.Diff …`.
  /// `body` must outlive this.
  BodyFields(const boost::json::object& body, std::string_view type) : body_{body}, type_{type} {}

  /// The member called `name`; null when absent or null.
  const boost::json::value* find(std::string_view name) const;

  // Absent members are zero. A wrong type is remembered and told by `error`.
  std::string text(std::string_view name);
  bool boolean(std::string_view name);
  std::int64_t integer(std::string_view name);
  std::uint64_t unsigned_integer(std::string_view name);
  std::optional<std::uint64_t> maybe_unsigned(std::string_view name);
  const boost::json::object* object(std::string_view name);
  const boost::json::array* array(std::string_view name);

  /// The first mismatch: `json: cannot unmarshal string into Go struct field …`.
  Result<> check() const;

private:
  const boost::json::value* expect(std::string_view name, std::string_view go_type, bool fits);
  void mismatch(std::string_view name, const boost::json::value& value, std::string_view go_type);

  const boost::json::object& body_;
  std::string_view type_;
  std::optional<Error> error_;
};

}  // namespace nomad::api
