// A plugin as its author writes it, seen through the test kit that authors have.
#include "runtime/plugin/sdk/session.hpp"

#include <csignal>
#include <stdexcept>

#include <capnp/serialize.h>
#include <doctest/doctest.h>

#include "runtime/plugin/sdk/task_driver.hpp"
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
        hook_of([](HookRunner& runner, const HookCall& call) -> Result<HookAnswer> {
          runner.event("Test", call.meta("color"));
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

TEST_CASE("session: a hook that was written for the last release is served") {
  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1").task_hook(
        {.name = "h", .phases = {Phase::PRESTART}},
        hook_of([](HookHost& host, const HookCall& call) -> Result<HookAnswer> {
          const schema::plugin::HookPlace::Reader place = call.place;
          Host& whole = host.agent();
          return HookAnswer{
              .data = {{"task", copy(place.getTask())}, {"node", whole.surroundings().node}}};
        }));
  }};

  const auto answer = agent.run_hook("h", Phase::PRESTART, {.task = "web"});

  CHECK(answer.value().data.at("task") == "web");
}

TEST_CASE("session: nested JSON is read as the whole is") {
  const Config config{
      R"({"limits":{"rate":5,"names":["a"]},"rules":[{"port":"1"},{"port":"]"}],"tags":{"a":"b\"c","n":7},"no":null})"};
  CHECK(config.block("limits").number("rate") == 5);
  CHECK(config.block("limits").texts("names") == std::vector<std::string>{"a"});
  REQUIRE(config.blocks("rules").size() == 2);
  CHECK(config.blocks("rules")[1].text("port") == "]");
  CHECK(config.map("tags") == std::map<std::string, std::string>{{"a", "b\"c"}, {"n", "7"}});
  CHECK(config.has("tags"));
  CHECK_FALSE(config.has("no"));
  CHECK_FALSE(config.has("nothing"));
  CHECK(config.block("nothing").number("rate", 3) == 3);
  CHECK(config.blocks("limits").empty());
}

TEST_CASE("session: the test kit checks configurations as an agent does") {
  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1").config({{.name = "wait", .kind = ConfigKind::DURATION, .required = true}});
  }};
  CHECK_FALSE(agent.configure("not json"));
  CHECK_FALSE(agent.configure("{}"));
  CHECK_FALSE(agent.configure(R"({"wiat":"1s"})"));
  CHECK(agent.configure(R"({"wait":"1s"})"));
}

TEST_CASE(
    "session: what throws is the failure of what was asked, and the next question is served") {
  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1")
        .task_hook({.name = "throws", .phases = {Phase::PRESTART}},
                   hook_of([](HookRunner&, const HookCall&) -> Result<HookAnswer> {
                     throw std::runtime_error{"no luck"};
                   }))
        .task_hook({.name = "factory", .phases = {Phase::PRESTART}},
                   [](HookRunner&) -> std::unique_ptr<Hook> { throw std::runtime_error{"at all"}; })
        .task_hook({.name = "none", .phases = {Phase::PRESTART}},
                   [](HookRunner&) -> std::unique_ptr<Hook> { return nullptr; })
        .driver("d", [](Agent&) -> std::unique_ptr<Driver> { throw std::runtime_error{"driver"}; });
  }};

  CHECK(agent.run_hook("throws", Phase::PRESTART).error().what == "it threw: no luck");
  CHECK(agent.run_hook("factory", Phase::PRESTART).error().what == "it threw: at all");
  CHECK(agent.run_hook("none", Phase::PRESTART).error().what == "the hook's factory made nothing");
  CHECK(agent.ask_driver("d", [](auto request) { request.setFingerprint(); }).error().what
        == "it threw: driver");
  CHECK(agent.run_hook("unknown", Phase::PRESTART).error()
        == Error{Errc::not_found, "the plugin has no such hook"});
  CHECK(agent.ask_driver("unknown", [](auto request) { request.setFingerprint(); }).error()
        == Error{Errc::not_found, "the plugin has no such driver"});
}

TEST_CASE("session: a provider of services is asked, and what it drops or throws is told") {
  struct Odd final : ServiceProvider {
    void register_services(const std::vector<Service>& services, const DoneReply& reply) override {
      if (services.at(0).name == "drop") return;
      if (services.at(0).name == "throw") throw std::runtime_error{"no luck"};
      reply({});
      reply(Error{Errc::internal, "twice"});
    }

    void deregister_services(const std::vector<std::string>&, const DoneReply& reply) override {
      reply(Error{Errc::rejected, "never"});
    }
  };

  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1").service_provider({.name = "odd"},
                                         [](Agent&) { return std::make_unique<Odd>(); });
    plugin.service_provider({.name = "none"}, [](Agent&) { return std::unique_ptr<Odd>{}; });
  }};

  CHECK(agent.register_services("odd", {{.id = "1", .name = "web"}}));
  CHECK(agent.register_services("odd", {{.id = "1", .name = "drop"}}).error().what
        == "the provider of services dropped the question");
  CHECK(agent.register_services("odd", {{.id = "1", .name = "throw"}}).error().what
        == "it threw: no luck");
  CHECK(agent.deregister_services("odd", {"1"}).error().what == "never");
  for (const auto* name : {"none", "unknown"})
    CHECK(agent.deregister_services(name, {"1"}).error()
          == Error{Errc::not_found, "the plugin has no such provider of services"});
}

TEST_CASE(
    "session: a question that its author keeps longer than the session is answered to nobody") {
  std::vector<DecisionReply> kept;
  {
    TestAgent agent{[&kept](Plugin& plugin) {
      plugin.is("p", "1").scheduler(
          {.type = "t"}, [&kept](Agent&, auto, const auto& reply) { kept.push_back(reply); });
    }};
    CHECK_FALSE(agent.decide("t", [](auto) {}));
    CHECK_FALSE(agent.decide("t", [](auto) {}));
  }
  kept[0](Decision{});
  kept.clear();
}

TEST_CASE("session: an answer may come later, and a cancel makes it come") {
  Late* made = nullptr;
  TestAgent agent{[&made](Plugin& plugin) {
    plugin.is("p", "1").task_hook({.name = "h", .phases = {Phase::PRESTART}}, [&made](HookRunner&) {
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
    plugin.is("p", "1").task_hook({.name = "h", .phases = {Phase::PRESTART}}, [](HookRunner&) {
      class Drops final : public Hook {
        void run(const HookCall&, const HookReply&) override {}
      };

      return std::make_unique<Drops>();
    });
  }};
  CHECK(agent.run_hook("h", Phase::PRESTART).error()
        == Error{Errc::internal, "the hook dropped the question"});
}

TEST_CASE("session: a driver's question that is dropped fails, and so does what throws a number") {
  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1")
        .driver("d",
                [](Agent&) {
                  class Drops final : public Driver {
                    void ask(schema::plugin::DriverRequest::Reader, const DriverReply&) override {}
                  };

                  return std::make_unique<Drops>();
                })
        .task_hook({.name = "throws", .phases = {Phase::PRESTART}},
                   hook_of([](HookRunner&, const HookCall&) -> Result<HookAnswer> { throw 42; }));
  }};
  CHECK(agent.ask_driver("d", [](auto request) { request.setFingerprint(); }).error().code
        == Errc::internal);
  CHECK(agent.run_hook("throws", Phase::PRESTART).error().what
        == "it threw something that is no std::exception");
}

TEST_CASE("session: a scheduler decides now or later; what throws or is dropped is a failure") {
  std::vector<DecisionReply> open;
  TestAgent agent{[&open](Plugin& plugin) {
    plugin.is("p", "1")
        .scheduler(
            {.type = "now"}, scheduler_of([](Agent&, auto question) -> Result<Decision> {
              Decision decision{.placements = {{"g", "n", "a"}}, .unplaced = {{"h", 2, "w"}}};
              for (const auto alloc : question.getAllocs())
                decision.stops.push_back({copy(alloc.getId()), counts(alloc) ? "yes" : "no"});
              return decision;
            }))
        .scheduler({.type = "later"},
                   [&open](Agent&, auto, const DecisionReply& reply) { open.push_back(reply); })
        .scheduler({.type = "drops"}, [](Agent&, auto, const DecisionReply&) {})
        .scheduler({.type = "throws"}, scheduler_of([](Agent&, auto) -> Result<Decision> {
                     throw std::runtime_error{"no luck"};
                   }));
  }};

  const auto now = agent.decide("now", [](auto question) {
    auto allocs = question.initAllocs(2);
    allocs[0].setStatus(nomad::schema::ClientStatus::RUNNING);
    allocs[1].setStatus(nomad::schema::ClientStatus::FAILED);
  });
  REQUIRE(now);
  CHECK(now->stops[0].description == "yes");
  CHECK(now->stops[1].description == "no");
  CHECK(now->placements[0].replaces == "a");
  CHECK(now->unplaced[0].count == 2);
  CHECK(agent.decide("drops", [](auto) {}).error().what == "the scheduler dropped the question");
  CHECK(agent.decide("throws", [](auto) {}).error().what == "it threw: no luck");
  CHECK(agent.decide("other", [](auto) {}).error()
        == Error{Errc::not_found, "the plugin has no such scheduler"});
  CHECK(agent.decide("later", [](auto) {}).error()
        == Error{Errc::timeout, "it is not answered yet"});
  open.clear();
}

TEST_CASE("session: devices are found, and those that a task has got are reserved") {
  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1").devices(
        "gadgets", {.vendor = "acme", .type = "gadget"},
        [](Agent&) -> Result<std::vector<DeviceGroup>> {
          return std::vector<DeviceGroup>{{.name = "one",
                                           .attributes = {{"memory", "1 GiB"}},
                                           .instances = {{"a"}, {"b", false}}}};
        },
        [](HookRunner&, const HookCall&, const ReservedDevices& got) -> Result<HookAnswer> {
          if (got.ids.empty()) return Error{Errc::not_found, "no such gadget"};
          return HookAnswer{.environment = {{"GADGET_" + got.name, got.ids[0]}},
                            .devices = {{"/dev/g", "/dev/g" + got.ids[0]}}};
        });
  }};
  const auto found = agent.find_devices("gadgets");
  REQUIRE(found);
  CHECK((*found)[0].attributes.at("memory") == "1 GiB");
  CHECK_FALSE((*found)[0].instances[1].healthy);

  const TestTask task{.kind = {.vendor = "acme", .type = "gadget"},
                      .devices = {{"one", {"a"}}, {"two", {"b", "c"}}}};
  const auto answer = agent.run_hook("gadgets", Phase::PRESTART, task);
  REQUIRE(answer);
  CHECK(answer->environment
        == std::map<std::string, std::string>{{"GADGET_one", "a"}, {"GADGET_two", "b"}});
  CHECK(answer->devices.size() == 2);
  const TestTask other{.kind = {.vendor = "other", .type = "gadget"}, .devices = {{"one", {"a"}}}};
  CHECK(agent.run_hook("gadgets", Phase::PRESTART, other)->environment.empty());
  const TestTask wrong{.task = "w", .kind = task.kind, .devices = {{"one", {}}}};
  CHECK(agent.run_hook("gadgets", Phase::PRESTART, wrong).error().what == "no such gadget");
}

namespace {

/// A command that is no process: says what it is given, and how it ended.
class Echo final : public Command {
public:
  Echo(Agent& agent, bool tty, CommandTold told) : told_{std::move(told)} {
    agent.after(1ms, [this, tty] { told_.output(1, tty ? "terminal " : "pipes ", false); });
  }

  void input(std::string_view bytes, bool last) override {
    told_.output(1, bytes, last);
    told_.input_taken(bytes.size());
    if (!last) return;
    told_.output(2, {}, true);
    told_.ended({.code = 7, .error = "enough"});
  }

  void resize(unsigned, unsigned) override {}

  void taken(std::size_t) override {}

  void close() override {}

private:
  CommandTold told_;
};

/// A driver whose commands run as they are given.
class Beside final : public TaskDriver {
public:
  explicit Beside(Agent& agent) : TaskDriver{agent, {.name = "d", .exec = true}} {}

private:
  Result<std::string> start(schema::plugin::TaskConfig::Reader) override { return std::string{}; }

  Result<std::string> recover(const TaskId&, std::string_view, std::string_view) override {
    return Error{Errc::not_found, "none"};
  }

  Result<> stop(const TaskId&, std::string_view, Nanoseconds) override { return {}; }

  void destroy(const TaskId&) override {}

  Result<ExecPlan> run_beside(const TaskId&, std::vector<std::string> command) override {
    if (command.front() == "refused") return Error{Errc::rejected, "not here"};
    if (command.front() == "elsewhere") {
      return ExecPlan{.command = {}, .elsewhere = [this](bool tty, CommandTold told) {
                        return Result<std::shared_ptr<Command>>{
                            std::make_shared<Echo>(agent(), tty, std::move(told))};
                      }};
    }
    return ExecPlan{.command = std::move(command),
                    .directory = "/",
                    .environment = {{"PATH=/usr/bin:/bin", "WORD=here"}}};
  }
};

void beside(Plugin& plugin) {
  plugin.is("p", "1").driver("d", [](Agent& agent) { return std::make_unique<Beside>(agent); });
}

/// Until it has ended; what it has started gets the second that it has.
const TestAgent::Command& end_of(TestAgent& agent, std::uint64_t number) {
  for (int tries = 0; tries < 1000 && !agent.command(number).ended; ++tries) {
    REQUIRE(agent.wait(10ms));
    REQUIRE(agent.advance(10ms));
  }
  REQUIRE(agent.command(number).ended);
  return agent.command(number);
}

}  // namespace

TEST_CASE("session: a command's streams, its end and its code") {
  TestAgent agent{beside};
  const auto number
      = agent.run_beside("d", {"sh", "-c", "cat; pwd; echo $WORD >&2; kill -0 $$; exit 3"});
  REQUIRE(number);
  REQUIRE(agent.send_input(*number, "one\n"));
  REQUIRE(agent.send_input(*number, "two\n", true));
  const auto& command = end_of(agent, *number);
  CHECK(command.output == "one\ntwo\n/\n");
  CHECK(command.errors == "here\n");
  CHECK(command.code == 3);
  CHECK(command.input_taken == 8);

  const auto killed = agent.run_beside("d", {"sh", "-c", "kill -9 $$"});
  REQUIRE(killed);
  CHECK(end_of(agent, *killed).code == 128 + 9);
  CHECK(agent.run_beside("d", {"refused"}).error().what == "not here");
  CHECK(agent.run_beside("d", {"no-such-program"}).error().what
        == "starting no-such-program: No such file or directory");
}

TEST_CASE("session: a command that somebody else runs is carried like a process") {
  TestAgent agent{beside};
  const auto number = agent.run_beside("d", {"elsewhere"}, true);
  REQUIRE(number);
  REQUIRE(agent.advance(1ms));
  REQUIRE(agent.send_input(*number, "words", true));
  const auto& command = end_of(agent, *number);
  CHECK(command.output == "terminal words");
  CHECK(command.code == 7);
  CHECK(command.input_taken == 5);
}

TEST_CASE("session: more output than the window waits until it is taken") {
  TestAgent agent{beside};
  const auto number = agent.run_beside("d", {"head", "-c", "3000000", "/dev/zero"});
  REQUIRE(number);
  CHECK(end_of(agent, *number).output.size() == 3'000'000);
}

TEST_CASE("session: a command has a terminal, and its size") {
  TestAgent agent{beside};
  const auto number
      = agent.run_beside("d", {"sh", "-c", "test -t 0 && read line && stty size"}, true);
  REQUIRE(number);
  REQUIRE(agent.resize(*number, 30, 90));
  REQUIRE(agent.send_input(*number, "go\n"));
  const auto& command = end_of(agent, *number);
  CHECK(command.output.find("30 90") != std::string::npos);
  CHECK(command.errors.empty());
}

TEST_CASE(
    "session: a command ends when nobody wants it, and one that leaves somebody behind ends") {
  TestAgent agent{beside};
  const auto number = agent.run_beside("d", {"sh", "-c", "echo $$; exec sleep 1000"});
  REQUIRE(number);
  for (int tries = 0; tries < 500 && agent.command(*number).output.empty(); ++tries)
    REQUIRE(agent.wait(10ms));
  const auto pid = std::stoi(agent.command(*number).output);
  REQUIRE(agent.close_command(*number));
  for (int tries = 0; tries < 500 && ::kill(pid, 0) == 0; ++tries)
    REQUIRE(agent.wait(10ms));
  CHECK(::kill(pid, 0) != 0);
  CHECK_FALSE(agent.command(*number).ended);

  const auto left = agent.run_beside("d", {"sh", "-c", "setsid sleep 1000 & echo $!; exit 4"});
  REQUIRE(left);
  CHECK(end_of(agent, *left).code == 4);
  ::kill(std::stoi(agent.command(*left).output), SIGKILL);
}

TEST_CASE("session: a timer that is due at once lets the agent be heard first") {
  struct Restless final : Actor {
    explicit Restless(Agent& to) : agent{to} {}

    void start() override {
      agent.after(0s, [this] {
        if (++rounds < 1000) start();
      });
    }

    Agent& agent;
    int rounds = 0;
  };

  Plugin plugin;
  Restless* made = nullptr;
  plugin.is("p", "1").actor("a", [&made](Agent& agent) {
    auto actor = std::make_unique<Restless>(agent);
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
    explicit Follows(Agent& to) : agent{to} {}

    void start() override {
      agent.get("/v1/jobs", [this](const Result<ApiAnswer>& answer) {
        agent.log(Level::info, answer ? answer->body : answer.error().what);
      });
      agent.subscribe(
          "/v1/event/stream", [this](std::string_view line) { agent.log(Level::info, line); },
          [this](const Error& why) { agent.log(Level::warn, why.what); });
      agent.after(5s, [this] { agent.count("ticks"); });
    }

    Agent& agent;
  };

  TestAgent agent{[](Plugin& plugin) {
    plugin.is("p", "1").actor("a", [](Agent& agent) { return std::make_unique<Follows>(agent); });
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
    plugin.is("p", "1").actor("a", [](Agent&) { return std::make_unique<Throws>(); });
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
