#include "actors/plugin/api_calls.hpp"

#include <doctest/doctest.h>

#include "runtime/net/http/error_status.hpp"
#include "runtime/object/draft.hpp"

using namespace nomad;
using plugin::ApiCalls;

namespace {

struct Api {
  net::HttpRouter routes;
  std::vector<plugin::Frame> sent;
  std::vector<net::BodyStream> bodies;  ///< Of /v1/stream.
  std::shared_ptr<plugin::ApiGate> gate;
  std::unique_ptr<ApiCalls> calls;

  Api() {
    routes.handle("/v1/here", [](net::Responder responder) {
      net::Response response;
      response.headers = {{"X-Nomad-Index", "42"}};
      CHECK(responder.request().header("X-Nomad-Token") == "f65efade");
      CHECK(responder.request().limits == "node: read-job");
      response.body = responder.request().method + ' ' + responder.request().body;
      responder.send(std::move(response));
    });
    routes.handle("/v1/stream", [this](net::Responder responder) {
      bodies.push_back(responder.stream(net::Response{}));
    });
    gate = std::make_shared<plugin::ApiGate>(std::make_shared<const net::HttpRouter>(routes));
    calls = std::make_unique<ApiCalls>(
        Turns::here(), "p", [this](const ApiCalls::Heard& what) { calls->heard(what); },
        [this](const std::function<void(schema::plugin::Frame::Builder)>& fill) {
          Draft<schema::plugin::Frame> draft;
          fill(*draft);
          sent.push_back(draft.freeze());
        });
    calls->open(gate, {"read-job", SecretText{"f65efade"}});
  }

  void ask(std::uint64_t number, const char* path, bool subscribes = false) {
    Draft<schema::plugin::ApiRequest> draft;
    draft->setMethod("GET");
    draft->setPath(path);
    calls->request(number, draft.reader(), subscribes);
  }

  std::string refusal() const {
    REQUIRE(sent.back()->isFailed());
    return copy(sent.back()->getFailed().getMessage());
  }

  std::string body_of(const plugin::Frame& frame) const {
    const auto data = frame->isStreamPart() ? frame->getStreamPart().getBytes()
                                            : frame->getApiAnswer().getBody();
    return {reinterpret_cast<const char*>(data.begin()), data.size()};
  }
};

}  // namespace

TEST_CASE("api calls: a path is answered with status, index and body") {
  Api api;
  api.ask(5, "/v1/here");
  REQUIRE(api.sent.size() == 1);
  CHECK(api.sent[0]->getNumber() == 5);
  CHECK(api.sent[0]->getApiAnswer().getStatus() == 200);
  CHECK(api.sent[0]->getApiAnswer().getIndex() == 42);
  CHECK(api.body_of(api.sent[0]) == "GET ");
}

TEST_CASE("api calls: a subscription goes on as far as it is taken") {
  Api api;
  api.ask(6, "/v1/stream", true);
  REQUIRE(api.sent.size() == 1);
  CHECK(api.sent[0]->isApiAnswer());
  bool drained = false;
  const std::string much(300 * 1024, 'x');
  CHECK(api.bodies.back().write(much, [&drained] { drained = true; }));
  std::size_t told = 0;
  for (std::size_t i = 1; i < api.sent.size(); ++i)
    told += api.body_of(api.sent[i]).size();
  CHECK(told == schema::plugin::StreamPart::WINDOW);
  CHECK_FALSE(drained);

  api.calls->taken(6, 100 * 1024);

  told = 0;
  for (std::size_t i = 1; i < api.sent.size(); ++i)
    told += api.body_of(api.sent[i]).size();
  CHECK(told == much.size());
  CHECK(drained);
  api.bodies.back().close();
  CHECK(api.sent.back()->getStreamPart().getLast());
}

TEST_CASE("api calls: who is unsubscribed is gone for whoever writes") {
  Api api;
  api.ask(6, "/v1/stream", true);
  bool gone = false;
  api.bodies.back().on_abandoned([&gone] { gone = true; });
  api.calls->unsubscribe(6);
  CHECK(gone);
  CHECK_FALSE(api.bodies.back().write("x"));
}

TEST_CASE("api calls: whoever answered is let go of, and so is who is given up") {
  Api api;
  const auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = held;

  SUBCASE("an answer") {
    api.routes.handle("/v1/later", [](net::Responder) {});
    net::HttpRouter routes;
    routes.handle("/v1/later",
                  [keeps = std::make_shared<std::shared_ptr<int>>(held)](net::Responder responder) {
                    auto kept = std::make_shared<net::Responder>(std::move(responder));
                    kept->on_abandoned([kept, mine = std::exchange(*keeps, nullptr)] {});
                    kept->send(net::Response{});
                  });
    api.calls->open(std::make_shared<plugin::ApiGate>(
                        std::make_shared<const net::HttpRouter>(std::move(routes))),
                    {});
    api.ask(5, "/v1/later");
  }
  SUBCASE("a stream that has ended") {
    api.ask(6, "/v1/stream", true);
    auto body = std::make_shared<net::BodyStream>(std::move(api.bodies.back()));
    body->on_abandoned([body, held] {});
    body->close();
  }
  SUBCASE("one that is given up while it waits, and ends itself then") {
    api.ask(6, "/v1/stream", true);
    auto body = std::make_shared<net::BodyStream>(std::move(api.bodies.back()));
    auto* const stream = body.get();
    CHECK(stream->write(std::string(300 * 1024, 'x'), [body = std::move(body), held] {}));
    api.calls->unsubscribe(6);
  }
  CHECK(watched.use_count() == 1);
}

TEST_CASE("api calls: no more taken than was told, and no number twice") {
  Api api;
  api.ask(6, "/v1/stream", true);
  api.calls->taken(6, 1'000'000'000);
  CHECK(api.bodies.back().write(std::string(300 * 1024, 'x')));
  api.ask(6, "/v1/here");
  CHECK(api.refusal() == "another question has this number");
}

TEST_CASE("api calls: what is no path of the API, and what comes when it is closed, is refused") {
  Api api;
  api.ask(1, "/etc/passwd");
  CHECK(api.refusal() == "the path does not begin with /v1/");
  api.gate->close();
  api.ask(2, "/v1/here");
  CHECK(api.sent.back()->getApiAnswer().getStatus() == net::http_status(Errc::unavailable));
  CHECK(api.body_of(api.sent.back()) == "the agent ends");
}

TEST_CASE("api calls: before there is an API, and what is more than is passed on, is refused") {
  Api api;
  net::HttpRouter routes;
  routes.handle("/v1/large", [](net::Responder responder) {
    net::Response response;
    response.body.assign(std::size_t{64} << 20, 'x');
    responder.send(std::move(response));
  });
  api.calls->open(
      std::make_shared<plugin::ApiGate>(std::make_shared<const net::HttpRouter>(std::move(routes))),
      {});
  api.ask(1, "/v1/large");
  CHECK(api.refusal().starts_with("the answer has 67108864 bytes, at most "));
  CHECK(api.refusal().ends_with(" are passed on"));
  api.calls->open(nullptr, {});
  api.ask(2, "/v1/here");
  CHECK(api.refusal() == "the agent does not answer yet");
}

TEST_CASE("api calls: there is a bound to what is open") {
  Api api;
  for (std::uint64_t i = 1; i <= ApiCalls::most_subscriptions + 1; ++i)
    api.ask(i, "/v1/stream", true);
  CHECK(api.refusal() == std::to_string(ApiCalls::most_subscriptions) + " are open already");
  CHECK(api.sent.back()->getFailed().getCode() == static_cast<unsigned>(Errc::overloaded));
}
