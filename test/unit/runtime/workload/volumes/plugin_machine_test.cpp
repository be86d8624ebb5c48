#include "runtime/workload/volumes/plugin_machine.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"

using namespace nomad;
using namespace nomad::workload;
using namespace std::chrono_literals;

namespace {

PluginTask monolith(const std::string& alloc = "a") {
  return {.alloc = alloc,
          .task = "plugin",
          .id = "p",
          .is_node = true,
          .is_controller = true,
          .socket = "/s/" + alloc,
          .directory = "/csi/p",
          .base = "/local/csi",
          .health_timeout = 3s};
}

/// A machine whose actions are read as words.
struct Plugins {
  std::string done() {
    std::string text;
    constexpr const char* questions[]
        = {"probe", "info", "capabilities", "node info", "node", "controller"};
    for (const auto& action : machine.take()) {
      if (!text.empty()) text += ", ";
      text += std::visit(
          Overloaded{[&](const plugin_action::Ask& it) {
                       operation = it.operation;
                       return fmt::format("ask {}", questions[static_cast<int>(it.question)]);
                     },
                     [](const plugin_action::Save& it) { return "save " + it.plugin.key(); },
                     [](const plugin_action::Erase& it) { return "erase " + it.key; },
                     [](const plugin_action::Event& it) {
                       return fmt::format("{}: {}", it.healthy ? "healthy" : "unhealthy",
                                          it.message);
                     },
                     [](const plugin_action::Kill& it) { return "kill: " + it.why; },
                     [](const plugin_action::Changed&) { return std::string{"changed"}; },
                     [&](const plugin_action::Wait& it) {
                       wake = it.until;
                       return "wait " + format_duration(it.until - now);
                     }},
          action);
    }
    return text;
  }

  std::string say(const PluginMachine::Said& said = {}) {
    machine.answered(operation, said, now);
    return done();
  }

  std::string fail(const std::string& why) {
    machine.answered(operation, Error{Errc::unavailable, why}, now);
    return done();
  }

  std::string wait() {
    now = wake;
    machine.look(now);
    return done();
  }

  std::string first_round() {
    machine.started(monolith(), now);
    auto all = done();
    for (int i = 0; i < 6; ++i)
      all += ", " + say({.facts = {.provider = "local", .version = "1", .node_id = "n"}});
    return all;
  }

  PluginMachine machine;
  Nanoseconds now{1s}, wake{};
  std::uint64_t operation = 0;
};

}  // namespace

TEST_CASE("plugin_machine: one that is ready is asked what it is, and then registered") {
  Plugins test;

  CHECK(test.first_round()
        == "ask probe, ask info, ask capabilities, ask node info, ask node, ask controller, save "
           "a/plugin, healthy: plugin: p, changed, wait 30s");
  CHECK(test.machine.nodes().at("p").healthy);
  CHECK(test.machine.controllers().at("p").facts.provider == "local");
  CHECK(test.wait() == "ask probe");
  CHECK(test.say() == "ask node");
  CHECK(test.say() == "ask controller");
  CHECK(test.say() == "changed, wait 30s");
}

TEST_CASE("plugin_machine: one that is not ready in time has its task killed") {
  Plugins test;
  test.machine.started(monolith(), test.now);
  CHECK(test.done() == "ask probe");

  CHECK(test.fail("no socket") == "wait 100ms");
  CHECK(test.wait() == "ask probe");
  CHECK(test.say({.ready = false}) == "wait 200ms");
  while (test.now < 4s)
    test.wait(), test.fail("no socket");

  CHECK(test.machine.nodes().empty());
  CHECK(test.now == 4s);
}

TEST_CASE("plugin_machine: the end of its patience is told with the last reason") {
  Plugins test;
  test.machine.started(monolith(), test.now);
  static_cast<void>(test.done());
  test.now += 5s;

  CHECK(test.fail("hangs")
        == "unhealthy: Error: CSI plugin failed probe: hangs, kill: CSI plugin did not become healthy "
           "before configured 3s health timeout");
}

TEST_CASE("plugin_machine: one that says for too long that it is not ready is given up") {
  Plugins test;
  test.machine.started(monolith(), test.now);
  static_cast<void>(test.done());
  test.now += 5s;

  CHECK(test.say({.ready = false})
            .starts_with(
                "unhealthy: Error: CSI plugin failed probe: it says that it is not ready, kill"));
}

TEST_CASE("plugin_machine: a plugin that fails is unhealthy until it answers again") {
  Plugins test;
  test.first_round();
  test.wait();

  CHECK(test.fail("hangs")
        == "unhealthy: Error: CSI plugin failed probe: hangs, changed, wait 100ms");
  CHECK_FALSE(test.machine.nodes().at("p").healthy);
  test.wait();
  test.say();
  test.say();
  CHECK(test.say() == "healthy: plugin: p, changed, wait 30s");
  CHECK(test.machine.nodes().at("p").healthy);
}

TEST_CASE("plugin_machine: the newest of two serves, and the older one when it goes") {
  Plugins test;
  test.first_round();
  test.machine.started(monolith("b"), test.now);
  static_cast<void>(test.done());
  for (int i = 0; i < 6; ++i)
    test.say();
  CHECK(test.machine.nodes().at("p").plugin.alloc == "b");

  test.machine.stopped("b/plugin", test.now);

  CHECK(test.machine.nodes().at("p").plugin.alloc == "a");
}

TEST_CASE("plugin_machine: one whose task has exited is not healthy until it runs again") {
  Plugins test;
  test.first_round();
  test.machine.exited("a/plugin", test.now);
  static_cast<void>(test.done());
  CHECK(test.machine.nodes().at("p").description == "CSI plugin failed probe: its task has exited");

  test.machine.started(monolith(), test.now);

  CHECK(test.done() == "ask probe");
}

TEST_CASE("plugin_machine: one that stops is told of once more, and then nothing") {
  Plugins test;
  test.first_round();

  test.machine.stopped("a/plugin", test.now);
  CHECK(test.done() == "erase a/plugin, changed");
  CHECK_FALSE(test.machine.nodes().at("p").healthy);
  test.wait();
  CHECK(test.machine.nodes().empty());
}

TEST_CASE("plugin_machine: a new agent asks what an earlier one has registered") {
  Plugins test;
  test.machine.restore({monolith("a"), monolith("gone")}, {"a"}, test.now);
  CHECK(test.done() == "ask probe, erase gone/plugin");
  test.machine.started(monolith("a"), test.now);
  CHECK(test.done().empty());

  test.say();
  CHECK(test.machine.nodes().empty());  // nothing is said of what is not known
}

TEST_CASE("plugin_machine: reads what it writes, and nothing else") {
  CHECK(read_plugin(write_plugin(monolith())).value() == monolith());
  CHECK(read_plugin("1").error().what == "it is no row of a plugin");
}
