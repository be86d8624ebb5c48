#include "actors/api/http/websocket_handshake.hpp"

#include <string>
#include <string_view>

#include "runtime/net/http/status.hpp"
#include "runtime/net/http/websocket.hpp"

namespace nomad::api {
namespace {

struct Refusal {
  unsigned status;
  std::string_view why;
};

/// Between agents only its key counts: the first has checked the rest, and not all of it travels.
std::optional<Refusal> check_handshake(const net::Request& request) {
  const bool asks = !request.upgrade().empty();
  if (!asks && !request.header_has("Connection", "upgrade"))
    return Refusal{net::status::bad_request,
                   "the client is not using the websocket protocol: 'upgrade' token not found "
                   "in 'Connection' header"};
  if (!asks || !request.header_has("Upgrade", "websocket"))
    return Refusal{net::status::bad_request,
                   "the client is not using the websocket protocol: 'websocket' token not found "
                   "in 'Upgrade' header"};
  if (request.method != "GET" || !request.is_http11)
    return Refusal{net::status::method_not_allowed,
                   "the client is not using the websocket protocol: request method is not GET"};
  if (!request.header_has("Sec-WebSocket-Version", "13"))
    return Refusal{net::status::bad_request,
                   "unsupported version: 13 not found in 'Sec-Websocket-Version' header"};
  if (!net::websocket::is_key(request.header("Sec-WebSocket-Key")))
    return Refusal{net::status::bad_request,
                   "not a websocket handshake: 'Sec-WebSocket-Key' header is missing or blank"};
  return {};
}

Answer handshake_refused(const Refusal& refusal) {
  auto answer = Answer::text(refusal.status, std::string{net::reason_phrase(refusal.status)}
                                                 + "\nfailed to upgrade connection: websocket: "
                                                 + std::string{refusal.why});
  answer.headers.push_back({"Sec-Websocket-Version", "13"});
  answer.headers.push_back({"X-Content-Type-Options", "nosniff"});
  return answer;
}

}  // namespace

std::optional<Answer> refuse_handshake(const net::Request& request) {
  const auto refusal = check_handshake(request);
  return refusal ? std::optional{handshake_refused(*refusal)} : std::nullopt;
}

net::Response switching(const net::Request& request) {
  const auto key = request.header("Sec-WebSocket-Key");
  return {.status = net::status::switching_protocols,
          .headers = {{"Upgrade", "websocket"},
                      {"Connection", "Upgrade"},
                      {"Sec-WebSocket-Accept", net::websocket::accept_for(key)}}};
}

}  // namespace nomad::api
