// Answer: what a handler says, before it becomes an HTTP response: body, status and Nomad's
// headers. Errors become plain text with the status of their code
// (runtime/net/http/error_status.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::api {

struct Answer {
  unsigned status = 200;
  std::string content_type = "application/json";  ///< Ignored when there is no body.
  std::string body = {};
  std::shared_ptr<const std::string> shared_body = {};  ///< Instead of `body`.
  std::shared_ptr<const std::string> shared_gzip = {};

  std::optional<std::uint64_t> index = {};  ///< X-Nomad-Index.
  bool is_read = false;                     ///< Also X-Nomad-LastContact and X-Nomad-KnownLeader.
  bool known_leader = true;
  std::chrono::milliseconds last_contact{0};  ///< Since the leader was heard; of a stale read.
  std::string next_token = {};                ///< X-Nomad-NextToken, encoded, when not empty.
  net::Headers headers = {};

  /// A JSON value.
  static Answer json(std::string body) { return {.body = std::move(body)}; }

  /// 200 without a body.
  static Answer empty() { return {}; }

  /// Plain text with a status that is no `Error`'s. As all texts of errors it may hold what the
  /// caller sent: what no terminal should get is escaped.
  static Answer text(unsigned status, std::string_view text);

  static Answer error(const Error& error);

  Answer with_index(std::uint64_t value) && {
    index = value;
    return std::move(*this);
  }
};

/// The caller made a mistake: 400.
inline Error bad_request(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

/// There is no such thing: 404.
inline Error not_found(std::string what) {
  return {Errc::not_found, std::move(what)};
}

/// What becomes of a call: its answer, the error that refuses it, or nothing yet (`later`), when
/// whoever took the call over answers it.
using Outcome = Result<std::optional<Answer>>;

inline constexpr std::nullopt_t later = std::nullopt;

/// The response for `answer` to `request`, pretty-printed when it asks for that.
net::Response to_response(Answer answer, const net::Request& request);

/// Appends the members of Nomad's QueryMeta to an open object: Index, KnownLeader, LastContact,
/// NextToken.
class JsonObject;
void append_query_meta(JsonObject& object, std::uint64_t index, bool known_leader);

}  // namespace nomad::api
