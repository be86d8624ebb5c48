#include "runtime/template/change/change_plan.hpp"

#include <doctest/doctest.h>

using namespace nomad::templates;
using namespace std::chrono_literals;

namespace {

ChangeRule restart(std::chrono::nanoseconds splay = 0s) {
  return {.mode = ChangeMode::restart, .splay = splay};
}

ChangeRule signal(std::string name, std::chrono::nanoseconds splay = 0s) {
  return {.mode = ChangeMode::signal, .signal = std::move(name), .splay = splay};
}

ChangeRule script(std::string command) {
  return {.mode = ChangeMode::script, .script = {.command = std::move(command)}};
}

ChangeRule noop(std::chrono::nanoseconds splay) {
  return {.mode = ChangeMode::noop, .splay = splay};
}

ChangePlan plan(const std::vector<ChangeRule>& rules) {
  return plan_changes(rules);
}

}  // namespace

TEST_CASE("change_plan: restarts of several templates are one") {
  const auto changes = plan({restart(), restart(), restart()});

  CHECK(changes.restarts);
  CHECK_FALSE(changes.is_empty());
}

TEST_CASE("change_plan: where the task restarts nothing else is done to it") {
  const auto changes = plan({signal("SIGHUP"), restart(), script("/bin/x")});

  CHECK(changes.restarts);
  CHECK(changes.signals.empty());
  CHECK(changes.scripts.empty());
}

TEST_CASE("change_plan: each signal is sent once, each script is run") {
  const auto changes
      = plan({signal("SIGUSR1"), script("/b"), signal("SIGHUP"), signal("SIGUSR1"), script("/a")});

  CHECK(changes.signals == std::vector<std::string>{"SIGHUP", "SIGUSR1"});
  REQUIRE(changes.scripts.size() == 2);
  CHECK(changes.scripts[0].command == "/b");
  CHECK(changes.scripts[1].command == "/a");
}

TEST_CASE(
    "change_plan: the longest splay counts, but none of a template whose change does nothing") {
  CHECK(plan({restart(5s), signal("SIGHUP", 10s), noop(1h)}).splay == 10s);
  CHECK(plan({noop(5s)}).is_empty());
  CHECK(plan({noop(5s)}).splay == 0s);
  CHECK(plan({}).is_empty());
}

TEST_CASE("change_plan: a splay's delay is before it") {
  CHECK(splay_delay(0s, 12345) == 0s);
  CHECK(splay_delay(10ns, 12345) == 5ns);
  CHECK(splay_delay(5s, ~std::uint64_t{0}) < 5s);
}

TEST_CASE("change_plan: how a script ended is said in Nomad's words") {
  const ChangeScript script{.command = "/bin/reload", .arguments = {"-x", "y"}};

  const auto good = script_exited(script, 0);
  CHECK_FALSE(good.failed);
  CHECK(good.message
        == "Template successfully ran script /bin/reload with arguments: [-x y]. Exit code: 0");
  const auto bad = script_exited(script, 3);
  CHECK(bad.failed);
  CHECK(bad.message
        == "Template ran script /bin/reload with arguments [-x y] on change but it exited with code "
           "code: 3");
  CHECK(script_failed(script, "no such file", 0).message
        == "Template failed to run script /bin/reload with arguments [-x y] on change: no such file "
           "Exit code: 0");
  CHECK(script_not_supported(script).message
        == "Template failed to run script /bin/reload with arguments [-x y] because task driver "
           "doesn't support the exec operation");
}
