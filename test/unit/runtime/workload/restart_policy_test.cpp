// When a task runs again.
#include "runtime/workload/restart_policy.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace nomad;
using namespace nomad::workload;

namespace {

constexpr RestartRules service_rules{.attempts = 2, .interval = 30min, .delay = 15s};

struct Tracked {
  Random random{1};
  RestartTracker tracker;

  explicit Tracked(RestartRules rules, bool on_success = true) : tracker{rules, on_success, 0s} {}

  RestartDecision fail(Nanoseconds now) {
    tracker.note_exit(false);
    return tracker.decide(now, random);
  }
};

}  // namespace

TEST_CASE("restart_policy: attempts within the interval restart after the delay, then it fails") {
  Tracked task{service_rules};
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto decision = task.fail(1s);
    CHECK(decision.kind == RestartDecision::Kind::restart);
    CHECK(decision.reason == "Restart within policy");
    CHECK(decision.delay >= 15s);
    CHECK(decision.delay < 18750ms);
  }
  const auto last = task.fail(2s);
  CHECK(last.kind == RestartDecision::Kind::not_restarting);
  CHECK(last.reason == R"(Exceeded allowed attempts 2 in interval 30m0s and mode is "fail")");
}

TEST_CASE("restart_policy: a new interval starts counting again") {
  Tracked task{service_rules};
  CHECK(task.fail(1s).kind == RestartDecision::Kind::restart);
  CHECK(task.fail(2s).kind == RestartDecision::Kind::restart);
  CHECK(task.fail(31min).kind == RestartDecision::Kind::restart);
}

TEST_CASE("restart_policy: a pause is no attempt, and attempts are counted anew after it") {
  Tracked task{service_rules};
  CHECK(task.fail(1s).kind == RestartDecision::Kind::restart);
  CHECK(task.fail(2s).kind == RestartDecision::Kind::restart);
  task.tracker.note_paused();
  const auto pause = task.fail(3s);
  CHECK(pause.kind == RestartDecision::Kind::paused);
  CHECK(pause.delay == 0s);
  CHECK(task.fail(4s).kind == RestartDecision::Kind::restart);
  CHECK(task.fail(5s).kind == RestartDecision::Kind::restart);
  CHECK(task.fail(6s).kind == RestartDecision::Kind::not_restarting);

  Tracked allowed_none{{.attempts = 0}};
  allowed_none.tracker.note_paused();
  CHECK(allowed_none.fail(1s).kind == RestartDecision::Kind::paused);
  allowed_none.tracker.note_paused();
  allowed_none.tracker.note_killed();
  CHECK(allowed_none.fail(2s).kind == RestartDecision::Kind::killed);
}

TEST_CASE("restart_policy: mode delay waits for the interval's end") {
  auto rules = service_rules;
  rules.delays = true;
  Tracked task{rules};
  task.fail(1min);
  task.fail(2min);
  const auto decision = task.fail(10min);
  CHECK(decision.kind == RestartDecision::Kind::restart);
  CHECK(decision.delay == 20min);
  CHECK(decision.reason == "Exceeded allowed attempts, applying a delay");
}

TEST_CASE(
    "restart_policy: an interval of centuries counts, and a delay of centuries is waited for") {
  for (const bool delays : {false, true}) {
    Tracked task{{.attempts = 1, .interval = Nanoseconds::max(), .delay = 15s, .delays = delays}};
    CHECK(task.fail(1s).kind == RestartDecision::Kind::restart);
    const auto last = task.fail(2s);
    CHECK(last.kind
          == (delays ? RestartDecision::Kind::restart : RestartDecision::Kind::not_restarting));
    if (delays) CHECK(last.delay > 24h * 365 * 200);
  }
  Tracked patient{{.attempts = 9, .interval = 1h, .delay = Nanoseconds::max()}};
  for (int i = 0; i < 9; ++i)
    CHECK(patient.fail(1s).delay > 24h * 365 * 200);
}

TEST_CASE("restart_policy: asked-for restarts are immediate and do not count") {
  Tracked task{{.attempts = 1, .interval = 30min, .delay = 15s}};
  for (int i = 0; i < 5; ++i) {
    task.tracker.note_restart(false);
    task.tracker.note_exit(false);
    const auto decision = task.tracker.decide(1s, task.random);
    CHECK(decision.kind == RestartDecision::Kind::restart);
    CHECK(decision.delay == 0s);
  }
  CHECK(task.fail(2s).kind == RestartDecision::Kind::restart);
  CHECK(task.fail(2s).kind == RestartDecision::Kind::not_restarting);
}

TEST_CASE("restart_policy: a restart for failing checks counts") {
  Tracked task{{.attempts = 1, .interval = 30min, .delay = 15s}};
  task.tracker.note_restart(true);
  CHECK(task.tracker.decide(1s, task.random).delay >= 15s);
  CHECK(task.fail(2s).kind == RestartDecision::Kind::not_restarting);
}

TEST_CASE("restart_policy: success ends a batch task, and restarts a service") {
  Tracked batch{service_rules, false};
  batch.tracker.note_exit(true);
  CHECK(batch.tracker.decide(1s, batch.random).kind == RestartDecision::Kind::terminated);

  Tracked service{service_rules};
  service.tracker.note_exit(true);
  CHECK(service.tracker.decide(1s, service.random).kind == RestartDecision::Kind::restart);
}

TEST_CASE("restart_policy: without attempts only a batch task's success is no failure") {
  const RestartRules none{.attempts = 0};
  Tracked batch{none, false};
  batch.tracker.note_exit(true);
  CHECK(batch.tracker.decide(1s, batch.random).kind == RestartDecision::Kind::terminated);

  const auto failed = batch.fail(2s);
  CHECK(failed.kind == RestartDecision::Kind::not_restarting);
  CHECK(failed.reason == "Policy allows no restarts");

  Tracked service{none};
  service.tracker.note_exit(true);
  CHECK(service.tracker.decide(1s, service.random).kind == RestartDecision::Kind::not_restarting);
}

TEST_CASE("restart_policy: only recoverable start errors are tried again") {
  Tracked task{service_rules};
  task.tracker.note_start_error(true);
  CHECK(task.tracker.decide(1s, task.random).kind == RestartDecision::Kind::restart);
  task.tracker.note_start_error(false);
  const auto decision = task.tracker.decide(2s, task.random);
  CHECK(decision.kind == RestartDecision::Kind::not_restarting);
  CHECK(decision.reason == "Error was unrecoverable");
}

TEST_CASE("restart_policy: killed wins, and everything noted is used up") {
  Tracked task{service_rules};
  task.tracker.note_exit(false);
  task.tracker.note_restart(false);
  task.tracker.note_killed();
  CHECK(task.tracker.decide(1s, task.random).kind == RestartDecision::Kind::killed);
  CHECK(task.tracker.decide(1s, task.random).kind == RestartDecision::Kind::nothing);
}

TEST_CASE("restart_policy: who runs again after success") {
  CHECK(restarts_on_success("service", "", false));
  CHECK(restarts_on_success("system", "", false));
  CHECK_FALSE(restarts_on_success("batch", "", false));
  CHECK_FALSE(restarts_on_success("sysbatch", "", false));
  CHECK_FALSE(restarts_on_success("service", "prestart", false));
  CHECK(restarts_on_success("batch", "poststart", true));
  CHECK_FALSE(restarts_on_success("service", "poststop", true));
}

TEST_CASE("restart_policy: the interval's last moment belongs to it") {
  Tracked task{{.attempts = 1, .interval = 30min, .delay = 15s}};
  CHECK(task.fail(1s).kind == RestartDecision::Kind::restart);
  CHECK(task.fail(30min).kind == RestartDecision::Kind::not_restarting);

  Tracked later{{.attempts = 1, .interval = 30min, .delay = 15s}};
  CHECK(later.fail(1s).kind == RestartDecision::Kind::restart);
  CHECK(later.fail(30min + 1ns).kind == RestartDecision::Kind::restart);
  CHECK(later.fail(60min).kind
        == RestartDecision::Kind::not_restarting);  // the new interval began with that
}

TEST_CASE("restart_policy: without a delay it restarts at once, or nearly") {
  Tracked task{{.attempts = 1, .interval = 30min, .delay = 0s}};
  const auto decision = task.fail(1s);
  CHECK(decision.kind == RestartDecision::Kind::restart);
  CHECK(decision.delay == 1ns);
}

TEST_CASE("restart_policy: errors of the surroundings may go away") {
  CHECK(is_recoverable({Errc::unavailable, "x"}));
  CHECK(is_recoverable({Errc::timeout, "x"}));
  CHECK(is_recoverable({Errc::overloaded, "x"}));
  CHECK_FALSE(is_recoverable({Errc::invalid_argument, "x"}));
  CHECK_FALSE(is_recoverable({Errc::not_found, "x"}));
}

TEST_CASE("restart_policy: a start error that may go away counts, also after a success") {
  Tracked batch{service_rules, false};
  batch.tracker.note_start_error(true);
  batch.tracker.note_exit(true);
  CHECK(batch.tracker.decide(1s, batch.random).kind == RestartDecision::Kind::restart);
}
