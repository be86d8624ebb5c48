#include "runtime/probe/probe_http.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::probe;

using Failure = net::HttpClientError::Kind;

namespace {

Probe web() {
  Probe probe;
  probe.kind = Kind::http;
  probe.host = "10.0.0.1";
  probe.port = 8080;
  return probe;
}

net::HttpOutcome answer(unsigned status, std::string body = {}, net::Headers headers = {}) {
  return {.answer = {.status = status, .headers = std::move(headers), .body = std::move(body)},
          .failure = {}};
}

net::HttpOutcome broken(net::HttpOutcome outcome, Failure kind) {
  outcome.failure = {.kind = kind,
                     .code = Errc::unavailable,
                     .what = "why",
                     .asked = "Get \"http://10.0.0.1:8080/\""};
  return outcome;
}

}  // namespace

TEST_CASE("probe_http: a request has what the check says but for its framing") {
  auto probe = web();
  probe.method = "PUT";
  probe.path = "a b?c=d%20e#part";
  probe.body = "hello";
  probe.headers = {{"X-One", "1"}, {"content-length", "77"}, {"Transfer-Encoding", "chunked"}};
  const auto request = request_of(probe);
  CHECK(request.target == "/a%20b?c=d%20e");
  CHECK(request.headers.size() == 1);
  CHECK(request.body == "hello");
  CHECK_FALSE(request.keeps_connection);  // an old connection shows nothing
  CHECK(request.to.scheme == "http");
  probe.headers = {{"Host", ""}, {"host", "web.example"}, {"Host", "other"}};
  REQUIRE(request_of(probe).headers.size() == 1);
  CHECK(request_of(probe).headers[0].value == "web.example");
  probe.tls = true;
  probe.tls_server_name = "web.example";
  CHECK(request_of(probe).to.scheme == "https");
  CHECK(request_of(probe).tls_name == "web.example");
  CHECK(question_of(probe).authority == "web.example:8080");
}

TEST_CASE("probe_http: which answers pass, and what is shown of them") {
  CHECK(http_outcome(answer(200, "all of it")).output == "nomad: http ok");
  CHECK(http_outcome(answer(204)).passed);
  CHECK(http_outcome(answer(399, "x")).passed);
  CHECK_FALSE(http_outcome(answer(400, "x")).passed);
  CHECK(http_outcome(answer(503, "not yet")).output == "not yet");
  const auto half = http_outcome(broken(answer(500, "half"), Failure::timeout));
  CHECK(half.status_code == 500);
  CHECK(half.output == "half");
  CHECK(http_outcome(broken(answer(500), Failure::timeout)).output
        == "nomad: context deadline exceeded");
  const auto none = http_outcome(broken({}, Failure::closed));
  CHECK_FALSE(none.passed);
  CHECK(none.output == "nomad: Get \"http://10.0.0.1:8080/\": why");
  CHECK_FALSE(http_outcome(broken(answer(302), Failure::redirects)).passed);
}

TEST_CASE("probe_http: only bodies that are shown are waited for") {
  CHECK_FALSE(is_body_wanted(answer(200).answer));
  CHECK(is_body_wanted(answer(307, "", {{"location", "/x"}}).answer));
  CHECK(is_body_wanted(answer(302).answer));
  CHECK(is_body_wanted(answer(404).answer));
}

TEST_CASE("probe_http: why there is no connection") {
  const auto why = *broken({}, Failure::timeout).failure;
  CHECK(failed(web(), why).output == "nomad: context deadline exceeded");
  auto tcp = web();
  tcp.kind = Kind::tcp;
  CHECK(failed(tcp, why).output == "nomad: dial tcp 10.0.0.1:8080: i/o timeout");
}

TEST_CASE("probe_http: what gRPC says of itself") {
  CHECK(grpc_outcome({.http_status = 404, .status = {}, .message = {}, .body = {}}).output
        == "nomad: the answer is not gRPC's (HTTP status 404)");
  CHECK(grpc_outcome({.http_status = 200, .status = 5, .message = "no%20such", .body = {}}).output
        == "nomad: rpc error: code = NotFound desc = no such");
}
