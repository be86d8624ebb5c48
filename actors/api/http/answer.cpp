#include "actors/api/http/answer.hpp"

#include <utility>

#include "actors/api/http/json_out.hpp"
#include "runtime/base/text.hpp"
#include "runtime/net/http/error_status.hpp"

namespace nomad::api {
namespace {

bool is_pretty(const net::Request& request) {
  const auto* value = request.parameter("pretty");
  return value != nullptr && *value != "0";
}

/// Opaque to clients, who send it back (`parse_read_options`): ids may hold what no header may.
std::string encode_token(std::string_view token) {
  constexpr std::string_view printable = R"( !"#$&'()*+,/:;<=>?@[\]^`{|})";
  return percent_encode(token, printable);
}

}  // namespace

Answer Answer::text(unsigned status, std::string_view text) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = escape_controls(shorten(text))};
}

Answer Answer::error(const Error& error) {
  return text(net::http_status(error.code), error.what);
}

net::Response to_response(Answer answer, const net::Request& request) {
  net::Response response;
  response.status = answer.status;
  if (answer.index) response.headers.push_back({"X-Nomad-Index", std::to_string(*answer.index)});
  if (answer.is_read) {
    response.headers.push_back({"X-Nomad-Knownleader", answer.known_leader ? "true" : "false"});
    response.headers.push_back(
        {"X-Nomad-Lastcontact", std::to_string(answer.last_contact.count())});
  }
  if (!answer.next_token.empty())
    response.headers.push_back({"X-Nomad-Nexttoken", encode_token(answer.next_token)});
  for (auto& header : answer.headers)
    response.headers.push_back(std::move(header));
  const bool is_json = answer.content_type == "application/json";
  if (is_json && is_pretty(request)) {
    const std::string& compact = answer.shared_body ? *answer.shared_body : answer.body;
    if (!compact.empty()) answer.body = net::pretty_json(compact);
    answer.shared_body.reset();
    answer.shared_gzip.reset();
  }
  if (!answer.body.empty() || answer.shared_body)
    response.content_type = std::move(answer.content_type);
  response.body = std::move(answer.body);
  response.shared_body = std::move(answer.shared_body);
  response.shared_gzip = std::move(answer.shared_gzip);
  return response;
}

void append_query_meta(JsonObject& object, std::uint64_t index, bool known_leader) {
  object.number("Index", index)
      .boolean("KnownLeader", known_leader)
      .number("LastContact", 0)
      .text("NextToken", "");
}

}  // namespace nomad::api
