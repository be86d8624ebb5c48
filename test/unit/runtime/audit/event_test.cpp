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

TEST_CASE("event: what is known is in the line, in an order that stays, and nothing else") {
  Event event;
  event.created_at = 1'585'055'375'000'000'000;
  event.timestamp = event.created_at;
  event.id = "e1";
  event.stage = Stage::received;
  event.request = {.id = "r1", .operation = "GET", .endpoint = "/v1/jobs", .ns = "default"};
  CHECK(to_text(event)
        == R"({"created_at":"2020-03-24T13:09:35Z","event_type":"audit","payload":{"id":"e1",)"
           R"("stage":"OperationReceived","type":"audit","timestamp":"2020-03-24T13:09:35Z",)"
           R"("version":1,"auth":{"accessor_id":"","name":"","policies":[],"global":false,)"
           R"("create_time":"0001-01-01T00:00:00Z"},"request":{"id":"r1","operation":"GET",)"
           R"("endpoint":"/v1/jobs","namespace":{"id":"default"},"request_meta":)"
           R"({"remote_address":"","user_agent":""},"node_meta":{"ip":""}}})");

  event.stage = Stage::session_started;
  event.auth = {.accessor = "a1",
                .name = "n",
                .policies = {"dev", "ops"},
                .global = true,
                .create_time = event.created_at,
                .type = "client",
                .alloc = "l1",
                .certificate = "c1",
                .passed_on_by = "s1"};
  event.object = "o1";
  event.verdict = Verdict{.is_allowed = true,
                          .policies = {"dev"},
                          .path = "p",
                          .node_pool = "np",
                          .node = "nd",
                          .host_volume = "hv",
                          .plugin = "pl"};
  event.response = Response{.status = 200, .error = {}, .took = std::chrono::nanoseconds{7}};
  const auto text = to_text(event);
  const auto has = [&text](std::string_view part) { return text.find(part) != std::string::npos; };
  CHECK(has(R"("stage":"SessionStarted")"));
  CHECK(has(R"("auth":{"accessor_id":"a1","name":"n","policies":["dev","ops"],"global":true,)"
            R"("create_time":"2020-03-24T13:09:35Z","type":"client","alloc_id":"l1",)"
            R"("certificate":"c1","passed_on_by":"s1"},)"));
  CHECK(has(R"("object":"o1","verdict":{"allowed":true,"policies":["dev"],"path":"p",)"
            R"("node_pool":"np","node":"nd","host_volume":"hv","plugin":"pl"},)"
            R"("response":{"status_code":200},"duration_ns":7})"));
}

TEST_CASE("event: a note of the log itself has the numbers that it is about") {
  CHECK(note_text(1'585'055'375'000'000'000, "Dropped", {{"events", 3}, {"bytes", 0}})
        == R"({"created_at":"2020-03-24T13:09:35Z","event_type":"audit","payload":)"
           R"({"stage":"Dropped","type":"audit","timestamp":"2020-03-24T13:09:35Z","version":1,)"
           R"("events":3,"bytes":0})");
}

TEST_CASE("event: a token is taken out wherever it stands, however often, and nothing shorter") {
  const std::string secret = "12345678";
  const auto event_with = [](const std::string& what) {
    auto event = completed();
    for (auto* text : {&event.request.endpoint, &event.request.ns, &event.request.operation,
                       &event.request.user_agent, &event.object, &event.response->error,
                       &event.verdict->ns, &event.verdict->path, &event.verdict->node_pool,
                       &event.verdict->node, &event.verdict->host_volume, &event.verdict->plugin})
      *text = what;
    return event;
  };
  auto event = event_with(secret + '-' + secret + secret);
  redact(event, secret);
  CHECK(to_text(event) == to_text(event_with("<redacted>-<redacted><redacted>")));

  auto with_short = event_with("1234567");
  redact(with_short, "1234567");  // what is that short is found everywhere
  CHECK(to_text(with_short) == to_text(event_with("1234567")));

  Event early;  // nothing has been judged or answered yet
  early.request.endpoint = secret;
  redact(early, secret);
  CHECK(early.request.endpoint == "<redacted>");
}

}  // namespace nomad::audit
