#include "runtime/audit/event.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

namespace nomad::audit {
namespace {

Event completed() {
  Event event;
  event.created_at = 1'585'055'375'703'869'927;
  event.timestamp = event.created_at - 5;
  event.id = "8b826146-b264-af15-6526-29cb905145aa";
  event.stage = Stage::complete;
  event.auth = {.accessor = "a162f017", .name = "Bob \"x\"\n", .policies = {"dev"}, .node = "n1"};
  event.request = {.id = "r1",
                   .operation = "GET",
                   .endpoint = "/v1/job/web",
                   .ns = "default",
                   .remote = "127.0.0.1:33648",
                   .user_agent = "curl",
                   .node_ip = "127.0.0.1:4646"};
  event.route = "GET /v1/job/*";
  event.verdict = Verdict{.is_allowed = false, .capability = "read-job", .ns = "prod"};
  event.response = Response{
      .status = 403, .error = "Permission denied", .took = std::chrono::nanoseconds{1234}};
  return event;
}

boost::json::value parsed(const std::string& open_object) {
  return boost::json::parse(open_object + '}');
}

}  // namespace

TEST_CASE("event: has the names of Nomad Enterprise, and ours beside") {
  const auto line = parsed(to_text(completed()));

  const auto at = [&](std::string_view pointer) { return line.at_pointer(pointer); };
  CHECK(at("/event_type") == "audit");
  CHECK(at("/payload/stage") == "OperationComplete");
  CHECK(at("/payload/auth/accessor_id") == "a162f017");
  CHECK(at("/payload/auth/name") == "Bob \"x\"\n");
  CHECK(at("/payload/auth/policies/0") == "dev");
  CHECK(at("/payload/auth/create_time") == "0001-01-01T00:00:00Z");
  CHECK(at("/payload/auth/node_id") == "n1");
  CHECK(at("/payload/request/endpoint") == "/v1/job/web");
  CHECK(at("/payload/request/namespace/id") == "default");
  CHECK(at("/payload/request/request_meta/remote_address") == "127.0.0.1:33648");
  CHECK(at("/payload/request/node_meta/ip") == "127.0.0.1:4646");
  CHECK(at("/payload/response/status_code") == 403);
  CHECK(at("/payload/response/error") == "Permission denied");
  CHECK(at("/payload/verdict/allowed") == false);
  CHECK(at("/payload/verdict/namespace") == "prod");
  CHECK(at("/payload/duration_ns") == 1234);
}

TEST_CASE("event: bytes that are no text and long texts stay one line of JSON") {
  auto event = completed();
  event.request.endpoint = "/v1/\x01\xff\n\"" + std::string(10'000, 'a');

  const auto text = to_text(event);

  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.size() < 5'000);
  CHECK(parsed(text).is_object());
}

TEST_CASE("event: the token that was shown is taken out of all that its caller wrote") {
  auto event = completed();
  const std::string secret = "0f0e0d0c-secret";
  event.request.endpoint = "/v1/acl/token/" + secret;
  event.request.ns = secret;
  event.request.user_agent = secret + secret;
  event.response->error = "no " + secret;
  event.verdict->path = secret;

  redact(event, secret);

  CHECK(to_text(event).find(secret) == std::string::npos);
  CHECK(event.request.endpoint == "/v1/acl/token/<redacted>");
}

}  // namespace nomad::audit
