// A plugin as its author writes it, seen through the test kit that authors have.
#include "runtime/plugin/sdk/session.hpp"

#include <stdexcept>

#include <capnp/serialize.h>
#include <doctest/doctest.h>

#include "runtime/plugin/sdk/test_kit.hpp"

using namespace nomad;
using namespace nomad::plugin;
using namespace std::chrono_literals;

namespace {

class Late final : public Hook {
public:
  void run(const HookCall&, const HookReply& reply) override { open.push_back(reply); }

  void cancel() override {
    for (const auto& reply : open)
      reply(Error{Errc::cancelled, "cancelled"});
  }

  std::vector<HookReply> open;
};

}  // namespace

TEST_CASE("session: a function is asked, answers, and sees the task's meta and environment") {
  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1").task_hook(
        {.name = "h", .phases = {Phase::PRESTART}},
        hook_of([](HookHost& host, const HookCall& call) -> Result<HookAnswer> {
          host.event("Test", call.meta("color"));
          return HookAnswer{.done = true, .data = {{"saw", call.env("A")}}};
        }));
  }};

  const auto answer = agent.run_hook("h", Phase::PRESTART,
                                     {.meta = {{"color", "red"}}, .environment = {{"A", "1"}}});

  REQUIRE(answer);
  CHECK(answer->done);
  CHECK(answer->data.at("saw") == "1");
  CHECK(agent.events().at(0).message == "red");
}

TEST_CASE(
    "session: what throws is the failure of what was asked, and the next question is served") {
  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1")
        .task_hook({.name = "throws", .phases = {Phase::PRESTART}},
                   hook_of([](HookHost&, const HookCall&) -> Result<HookAnswer> {
                     throw std::runtime_error{"no luck"};
                   }))
        .task_hook({.name = "factory", .phases = {Phase::PRESTART}},
                   [](HookHost&) -> std::unique_ptr<Hook> { throw std::runtime_error{"at all"}; })
        .driver("d", [](Host&) -> std::unique_ptr<Driver> { throw std::runtime_error{"driver"}; });
  }};

  CHECK(agent.run_hook("throws", Phase::PRESTART).error().what == "it threw: no luck");
  CHECK(agent.run_hook("factory", Phase::PRESTART).error().what == "it threw: at all");
  CHECK(agent.ask_driver("d", [](auto request) { request.setFingerprint(); }).error().what
        == "it threw: driver");
  CHECK(agent.run_hook("unknown", Phase::PRESTART).error().code == Errc::not_found);
}

TEST_CASE("session: an answer may come later, and a cancel makes it come") {
  Late* made = nullptr;
  TestAgent agent{[&made](Plugin& plugin) {
    plugin.is("p", "1").task_hook({.name = "h", .phases = {Phase::PRESTART}}, [&made](HookHost&) {
      auto hook = std::make_unique<Late>();
      made = hook.get();
      return hook;
    });
  }};
  CHECK(agent.run_hook("h", Phase::PRESTART).error().code == Errc::timeout);
  REQUIRE(made != nullptr);

  made->open.front()(HookAnswer{.done = true});

  CHECK(agent.take_answer()->done);
}

TEST_CASE("session: a question that is dropped fails") {
  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1").task_hook({.name = "h", .phases = {Phase::PRESTART}}, [](HookHost&) {
      class Drops final : public Hook {
        void run(const HookCall&, const HookReply&) override {}
      };

      return std::make_unique<Drops>();
    });
  }};
  CHECK(agent.run_hook("h", Phase::PRESTART).error().code == Errc::internal);
}

TEST_CASE("session: a driver's question that is dropped fails, and so does what throws a number") {
  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1")
        .driver("d",
                [](Host&) {
                  class Drops final : public Driver {
                    void ask(schema::plugin::DriverRequest::Reader, const DriverReply&) override {}
                  };

                  return std::make_unique<Drops>();
                })
        .task_hook({.name = "throws", .phases = {Phase::PRESTART}},
                   hook_of([](HookHost&, const HookCall&) -> Result<HookAnswer> { throw 42; }));
  }};
  CHECK(agent.ask_driver("d", [](auto request) { request.setFingerprint(); }).error().code
        == Errc::internal);
  CHECK(agent.run_hook("throws", Phase::PRESTART).error().what.find("std::exception")
        != std::string::npos);
}

TEST_CASE("session: a timer that is due at once lets the agent be heard first") {
  struct Restless final : Actor {
    explicit Restless(Host& to) : host{to} {}

    void start() override {
      host.after(0s, [this] {
        if (++rounds < 1000) start();
      });
    }

    Host& host;
    int rounds = 0;
  };

  Plugin plugin;
  Restless* made = nullptr;
  plugin.is("p", "1").actor("a", [&made](Host& host) {
    auto actor = std::make_unique<Restless>(host);
    made = actor.get();
    return actor;
  });
  Session session{plugin, [](capnp::MessageBuilder&) {}};
  capnp::MallocMessageBuilder message;
  message.initRoot<schema::plugin::Frame>().setStartActors();
  const auto words = capnp::messageToFlatArray(message);
  REQUIRE(session.take({words.begin(), words.size()}, Nanoseconds{1}));
  REQUIRE(made != nullptr);
  REQUIRE(session.run_timers(Nanoseconds{2}));
  CHECK(made->rounds == 1);
}

TEST_CASE("session: an actor asks the API, follows a stream by lines, and has timers") {
  struct Follows final : Actor {
    explicit Follows(Host& to) : host{to} {}

    void start() override {
      host.get("/v1/jobs", [this](const Result<ApiAnswer>& answer) {
        host.log(Level::info, answer ? answer->body : answer.error().what);
      });
      host.subscribe(
          "/v1/event/stream", [this](std::string_view line) { host.log(Level::info, line); },
          [this](const Error& why) { host.log(Level::warn, why.what); });
      host.after(5s, [this] { host.count("ticks"); });
    }

    Host& host;
  };

  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1").actor("a", [](Host& host) { return std::make_unique<Follows>(host); });
  }};
  REQUIRE(agent.start_actors());
  REQUIRE(agent.open_requests().size() == 2);
  const auto jobs = agent.open_requests()[0];
  const auto stream = agent.open_requests()[1];

  REQUIRE(agent.answer(jobs.number, 200, "[]"));
  REQUIRE(agent.send_line(stream.number, "{}"));  // a sign of life
  REQUIRE(agent.send_line(stream.number, "one"));
  REQUIRE(agent.end_stream(stream.number));
  REQUIRE(agent.advance(4s));
  CHECK(agent.counted("ticks") == 0);
  REQUIRE(agent.advance(1s));

  CHECK(agent.counted("ticks") == 1);
  CHECK(
      agent.logs()
      == std::vector<std::string>{"info: []", "info: one", "warn: the agent has ended the answer"});
}

TEST_CASE("session: what an actor throws ends the session") {
  struct Throws final : Actor {
    void start() override { throw std::runtime_error{"gone"}; }
  };

  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1").actor("a", [](Host&) { return std::make_unique<Throws>(); });
  }};
  CHECK(agent.start_actors().error().what == "it threw: gone");
}

TEST_CASE("config: values of the outermost level, whatever else there is") {
  const Config config{
      R"({"a":"x\"\u00e9\n","n":-5,"on":true,"list":["p","q\\"],"block":{"a":"no","n":[1,{"n":2}]},"t":3000000000})"};
  CHECK(config.text("a") == "x\"\xc3\xa9\n");
  CHECK(config.number("n") == -5);
  CHECK(config.boolean("on"));
  CHECK(config.texts("list") == std::vector<std::string>{"p", "q\\"});
  CHECK(config.duration("t") == 3s);
  CHECK(config.text("absent", "instead") == "instead");
  CHECK(Config{}.number("n", 7) == 7);
}
