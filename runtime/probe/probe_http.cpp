#include "runtime/probe/probe_http.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/net/http/url.hpp"
#include "runtime/net/socket.hpp"
#include "runtime/probe/grpc_health.hpp"

namespace nomad::probe {
namespace {

constexpr int most_redirects = 10;

/// What the framing of a request makes of itself.
constexpr std::array<std::string_view, 3> framing
    = {"Content-Length", "Transfer-Encoding", "Trailer"};

bool is_framing(std::string_view header) {
  return std::any_of(framing.begin(), framing.end(),
                     [&](std::string_view name) { return net::same_header(name, header); });
}

/// Go's words where it has some.
std::string text_of(const net::HttpClientError& why) {
  using Kind = net::HttpClientError::Kind;
  return why.kind == Kind::timeout ? "context deadline exceeded" : why.what;
}

}  // namespace

net::HttpRequest peer_of(const Probe& probe) {
  net::HttpRequest request;
  request.to = {.scheme = probe.tls ? "https" : "http",
                .host = probe.host,
                .port = std::to_string(probe.port),
                .base_path = {}};
  request.tls_name = probe.tls_server_name;
  if (probe.kind == Kind::grpc) request.tls_protocol = "h2";
  request.keeps_connection = false;
  return request;
}

net::HttpRequest request_of(const Probe& probe) {
  auto request = peer_of(probe);
  request.method = probe.method;
  auto path = probe.path.substr(0, probe.path.find('#'));
  if (!path.starts_with('/')) path.insert(0, 1, '/');
  request.target = percent_encode(path, "/?&=%+:@!$'()*,;[]");
  bool has_host = false;
  for (const auto& [name, value] : probe.headers) {
    if (is_framing(name)) continue;
    if (net::same_header(name, "Host") && (value.empty() || std::exchange(has_host, true)))
      continue;
    request.headers.push_back({name, value});
  }
  request.body = probe.body;
  request.most_redirects = most_redirects;
  request.repeats_body = false;  // Nomad's checks don't: 307 and 308 pass
  return request;
}

GrpcCall::Question question_of(const Probe& probe) {
  const auto& host = probe.tls_server_name.empty() ? probe.host : probe.tls_server_name;
  return {.tls = probe.tls,
          .authority = net::join_host_port(host, std::to_string(probe.port)),
          .path = std::string{health_check_path},
          .body = encode_health_request(probe.grpc_service)};
}

bool is_body_wanted(const net::ClientResponse& head) {
  return head.status != 200;
}

Outcome http_outcome(const net::HttpOutcome& told) {
  using Kind = net::HttpClientError::Kind;
  const auto& failure = told.failure;
  const auto& answer = told.answer;
  if (failure && (answer.status == 0 || failure->kind == Kind::redirects))
    return failed(failure->asked.empty() ? text_of(*failure)
                                         : failure->asked + ": " + text_of(*failure));
  Outcome out{.passed = answer.status < 400,
              .status_code = static_cast<int>(answer.status),
              .output = answer.body};
  if (answer.status == 200)
    out.output = "nomad: http ok";
  else if (answer.body.empty() && failure)
    out.output = "nomad: " + text_of(*failure);
  return out;
}

Outcome grpc_outcome(const GrpcAnswer& answer) {
  if (!answer.status)
    return failed(fmt::format("the answer is not gRPC's (HTTP status {})", answer.http_status));
  if (*answer.status != 0) {
    const auto said = net::percent_decode(answer.message, false);
    return failed(fmt::format("rpc error: code = {} desc = {}", status_name(*answer.status),
                              said ? *said : answer.message));
  }
  const auto status = decode_health_answer(answer.body);
  if (!status) return failed(status.error().what);
  if (*status != "SERVING") return failed("grpc status " + *status);
  return {.passed = true, .output = "nomad: grpc ok"};
}

Outcome failed(const Probe& probe, const net::HttpClientError& why) {
  using Kind = net::HttpClientError::Kind;
  if (probe.kind == probe::Kind::tcp && why.kind == Kind::timeout)
    return failed("dial tcp " + net::join_host_port(probe.host, std::to_string(probe.port))
                  + ": i/o timeout");
  return failed(text_of(why));
}

Outcome failed(const std::string& why) {
  return {.passed = false, .status_code = 0, .output = "nomad: " + why};
}

}  // namespace nomad::probe
