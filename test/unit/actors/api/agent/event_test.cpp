// The event stream: lines, topics, resuming, namespaces.
#include <stdexcept>

#include <doctest/doctest.h>

#include "actors/api/http/presented.hpp"
#include "actors/api/http/routes.hpp"
#include "test/unit/actors/api/api_fixture.hpp"
#include "test/unit/actors/api/silent_peers.hpp"
#include "test/unit/runtime/net/http/test_server.hpp"

using namespace nomad;
using namespace nomad::api;
using namespace std::chrono_literals;
namespace json = boost::json;

namespace {

/// Reads lines of an event stream.
class Lines {
public:
  Lines(ApiFixture& fixture, const std::string& query)
      : client_{fixture.client()}, stream_{*client_.open({.target = "/v1/event/stream" + query})} {}

  std::string next() {
    for (;;) {
      if (const auto end = got_.find('\n'); end != std::string::npos) {
        auto line = got_.substr(0, end);
        got_.erase(0, end + 1);
        return line;
      }
      const auto piece = stream_.read(10s);
      if (!piece || piece->empty()) return "(end)";
      got_ += *piece;
    }
  }

  json::object next_object() { return json::parse(next()).as_object(); }

private:
  net::HttpClient client_;
  net::ResponseStream stream_;
  std::string got_;
};

/// A client whose connection throws when it is sent an event. As a real one it keeps, until the
/// body ends, whom to tell when it goes: that is what holds a subscriber who waits for events.
class BrokenClient final : public SilentClient {
public:
  bool write(std::string_view chunk, std::function<void()>) override {
    if (chunk.starts_with("{\"Events\"")) throw std::runtime_error{"a bug"};
    return true;
  }

  void on_abandoned(std::function<void()> callback) override {
    const std::lock_guard lock{guard_};
    abandoned_ = std::move(callback);
  }

  void end(bool properly) override {
    std::function<void()> dropped;  // outside the lock
    {
      const std::lock_guard lock{guard_};
      dropped.swap(abandoned_);
    }
    SilentClient::end(properly);
  }

private:
  std::mutex guard_;
  std::function<void()> abandoned_;
};

}  // namespace

TEST_CASE("events: a stream that an exception stops is cut, not left without events") {
  ApiOptions options;
  ApiFixture fixture{[&](ApiOptions& made) { options = made; }};
  actor::SystemConfig config;
  actor::System system{config};
  const auto context = std::make_shared<Context>(system, options);
  Routes routes{context};
  add_event_routes(routes);
  const auto exchange = std::make_shared<BrokenClient>();
  exchange->request.method = "GET";
  exchange->request.path = "/v1/event/stream";
  net::serve(routes.take(), net::Responder{exchange});

  fixture.state().register_job({.id = "web"});
  CHECK(test::eventually([&] { return exchange->cut.load(); }));
  CHECK_FALSE(exchange->ended);
  context->stop();
}

TEST_CASE("events: buffered ones first, then new ones, one line per index") {
  ApiFixture fixture;
  fixture.state().register_job({.id = "web"}, {.id = uuid(1)});
  Lines lines{fixture, ""};

  CHECK(lines.next() == "{}");
  const auto first = lines.next_object();
  CHECK(first.at("Index") == fixture.state().index);
  CHECK(texts_of(first.at("Events"), "Topic") == "Job,Evaluation");
  CHECK(texts_of(first.at("Events"), "Type") == "JobRegistered,JobRegistered");
  const auto& job = first.at("Events").as_array().at(0).as_object();
  CHECK(job.at("Key") == "web");
  CHECK(job.at("Namespace") == "default");
  CHECK(job.at("FilterKeys").is_null());
  CHECK(job.at("Payload").as_object().at("Job").as_object().at("ID") == "web");

  fixture.state().register_node({.id = own_node});
  const auto second = lines.next_object();
  CHECK(texts_of(second.at("Events"), "Topic") == "Node");
  CHECK(second.at("Events")
            .as_array()
            .at(0)
            .as_object()
            .at("Payload")
            .as_object()
            .at("Node")
            .as_object()
            .at("SecretID")
        == "");
}

TEST_CASE("events: an allocation comes with the metrics of its placement, as long as it is there") {
  ApiFixture fixture;
  fixture.state().register_job({.id = "web"}, {.id = uuid(1)});
  fixture.state().place({{.id = uuid(2), .eval = uuid(1)}});
  const auto shown = [&fixture] {
    Lines lines{fixture, "?topic=Allocation"};
    lines.next();
    const auto event = lines.next_object().at("Events").as_array().at(0).as_object();
    CHECK(event.at("FilterKeys") == json::array{"web", ""});
    return event.at("Payload").as_object().at("Allocation").as_object();
  };

  const auto placed = shown();
  CHECK(placed.at("Metrics").as_object().at("NodesEvaluated") == 7);
  CHECK_FALSE(placed.contains("Job"));
  fixture.state().run(
      [](auto command) { command.initReap().initAllocationIds(1).set(0, uuid(2).c_str()); });
  CHECK_FALSE(shown().contains("Metrics"));
}

TEST_CASE("events: topics, keys, namespaces and an index narrow them down") {
  ApiFixture fixture;
  fixture.add_namespace("other");
  fixture.state().register_job({.id = "web"}, {.id = uuid(1)});
  const auto middle = fixture.state().index;
  fixture.state().register_job({.id = "api"}, {.id = uuid(2), .job = "api"});
  fixture.state().register_job({.id = "far", .ns = "other"});

  Lines by_key{fixture, "?topic=Job:api"};
  by_key.next();
  CHECK(texts_of(by_key.next_object().at("Events"), "Key") == "api");
  Lines by_filter_key{fixture, "?topic=Evaluation:web"};
  by_filter_key.next();
  CHECK(texts_of(by_filter_key.next_object().at("Events"), "Key") == uuid(1));
  Lines later{fixture, "?topic=Job&index=" + std::to_string(middle + 1)};
  later.next();
  CHECK(texts_of(later.next_object().at("Events"), "Key") == "api");
  Lines everywhere{fixture, "?topic=Job:far&namespace=*"};
  everywhere.next();
  CHECK(texts_of(everywhere.next_object().at("Events"), "Key") == "far");

  CHECK(fixture.refusal("/v1/event/stream?index=x").starts_with("400 Unable to parse index: "));
  CHECK(fixture.refusal("/v1/event/stream?topic=a:b:c")
        == "400 Invalid topic query: error parsing topics: Invalid key value pair for topic, "
           "topic: a:b:c");
}

TEST_CASE("events: each is judged by its own namespace when it goes") {
  ApiFixture fixture{[&](ApiOptions& options) {
    options.authenticator = test::allowing(
        [](Capability, const access::Target& target) { return target.ns != "far"; });
  }};
  fixture.add_namespace("far");
  fixture.state().register_job({.id = "hidden", .ns = "far"});
  fixture.state().register_job({.id = "web"});

  Lines everywhere{fixture, "?topic=Job&namespace=*"};
  everywhere.next();
  CHECK(texts_of(everywhere.next_object().at("Events"), "Key") == "web");
  CHECK(fixture.refusal("/v1/event/stream?topic=Job&namespace=far") == "403 Permission denied");
}

TEST_CASE("events: many in a row all arrive, in order") {
  ApiFixture fixture;
  Lines lines{fixture, "?topic=Job"};
  CHECK(lines.next() == "{}");

  std::uint64_t last = 0;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 40; ++i)
      fixture.state().register_job({.id = "job-" + std::to_string(round * 40 + i)});
    for (int i = 0; i < 40; ++i) {
      const auto index = lines.next_object().at("Index").to_number<std::uint64_t>();
      CHECK(index > last);
      last = index;
    }
  }
  CHECK(last == fixture.state().index);
}

TEST_CASE("events: a subscriber that fell behind is told and ended") {
  ApiFixture fixture;
  net::RawPeer slow{fixture.address()};
  slow.send("GET /v1/event/stream HTTP/1.0\r\n\r\n");
  CHECK(slow.read_until("{}\n").find("200 OK") != std::string::npos);

  const std::string big(1 << 16, 'n');  // fills what the sockets hold, while nothing is read
  for (int i = 0; i < 400; ++i)
    fixture.state().register_job({.id = "job-" + std::to_string(i), .type = big});

  CHECK(slow.read_all().ends_with(
      "event stream: the subscriber was too slow and lost events; subscribe again\n"));
}

TEST_CASE("events: stopping the API ends the streams") {
  ApiFixture fixture;
  Lines lines{fixture, ""};
  CHECK(lines.next() == "{}");

  fixture.api->stop();

  CHECK(lines.next() == "(end)");
}
