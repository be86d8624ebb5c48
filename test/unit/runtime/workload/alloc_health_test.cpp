// The verdict on a new allocation.
#include "runtime/workload/alloc_health.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace nomad::workload;
using Verdict = AllocHealth::Verdict;

namespace {

constexpr HealthRules rules{.min_healthy_time = 10s, .healthy_deadline = 5min};

using Kind = CheckStanding::Kind;
const CheckStanding passing{.task = "", .service = "web", .kind = Kind::passing};
const CheckStanding failing{.task = "", .service = "web", .kind = Kind::failing};
const CheckStanding missing{.task = "", .service = "web", .kind = Kind::missing};

TaskState running_since(std::int64_t start) {
  return {.state = TaskRunState::RUNNING, .started_at = start};
}

Verdict update(AllocHealth& health, const std::vector<TaskState>& states, nomad::Nanoseconds now) {
  std::vector<const TaskState*> pointers;
  for (const auto& state : states)
    pointers.push_back(&state);
  return health.update(pointers, false, now);
}

}  // namespace

TEST_CASE("alloc_health: healthy after running for min_healthy_time") {
  AllocHealth health{rules, {{.name = "web", .hook = ""}}, 0s};
  CHECK(update(health, {TaskState{}}, 1s) == Verdict::undecided);
  CHECK(health.next_tick() == 5min);

  CHECK(update(health, {running_since(5)}, 5s) == Verdict::undecided);
  CHECK(health.next_tick() == 15s);
  CHECK(health.tick(14s) == Verdict::undecided);
  CHECK(health.tick(15s) == Verdict::healthy);
  CHECK_FALSE(health.next_tick().has_value());
}

TEST_CASE("alloc_health: a paused task is as it should be, and checks don't count meanwhile") {
  const TaskState paused{.paused = TaskScheduleState::SCHEDULED_PAUSE};
  auto with_check = rules;
  with_check.checks = 1;
  AllocHealth alone{with_check, {{.name = "web", .hook = ""}}, 0s};
  CHECK(update(alone, {TaskState{}}, 1s) == Verdict::undecided);
  CHECK(update(alone, {paused}, 2s) == Verdict::undecided);
  CHECK(alone.next_tick() == 12s);
  CHECK(alone.tick(12s) == Verdict::healthy);

  AllocHealth beside{rules, {{.name = "a", .hook = ""}, {.name = "b", .hook = ""}}, 0s};
  CHECK(update(beside, {paused, TaskState{}}, 1s) == Verdict::undecided);
  CHECK(beside.next_tick() == 5min);
  CHECK(update(beside, {paused, running_since(5)}, 5s) == Verdict::undecided);
  CHECK(beside.tick(15s) == Verdict::healthy);

  AllocHealth begun{with_check, {{.name = "web", .hook = ""}}, 0s};
  CHECK(update(begun, {paused}, 1s) == Verdict::undecided);
  CHECK(update(begun, {running_since(2)}, 2s) == Verdict::undecided);
  CHECK(begun.tick(12s) == Verdict::undecided);
  CHECK(begun.tick(5min) == Verdict::unhealthy);
}

TEST_CASE("alloc_health: a deadline of centuries is not over at once") {
  constexpr auto most = nomad::Nanoseconds::max();
  AllocHealth health{{.min_healthy_time = most - 2s, .healthy_deadline = most - 1s},
                     {{.name = "web", .hook = ""}},
                     100s};
  CHECK(update(health, {running_since(5)}, 105s) == Verdict::undecided);
  CHECK(health.tick(1h) == Verdict::undecided);
  CHECK(*health.next_tick() > 24h * 365 * 200);
}

TEST_CASE("alloc_health: a restart of any task starts the wait again") {
  AllocHealth health{rules, {{.name = "a", .hook = ""}, {.name = "b", .hook = ""}}, 0s};
  update(health, {running_since(1), running_since(1)}, 1s);
  update(health, {running_since(1), TaskState{}}, 9s);
  CHECK(health.tick(12s) == Verdict::undecided);
  update(health, {running_since(1), running_since(13)}, 13s);
  CHECK(health.tick(22s) == Verdict::undecided);
  CHECK(health.tick(23s) == Verdict::healthy);
}

TEST_CASE("alloc_health: a failed or ended task is unhealthy at once, and that is final") {
  AllocHealth failed{rules, {{.name = "a", .hook = ""}}, 0s};
  CHECK(update(failed, {{.state = TaskRunState::PENDING, .failed = true}}, 1s)
        == Verdict::unhealthy);
  CHECK(update(failed, {running_since(1)}, 1min) == Verdict::unhealthy);

  AllocHealth ended{rules, {{.name = "a", .hook = ""}}, 0s};
  CHECK(update(ended, {{.state = TaskRunState::DEAD, .finished_at = 3}}, 1s) == Verdict::unhealthy);
}

TEST_CASE("alloc_health: prestart tasks may end, successful poststart and poststop do not matter") {
  AllocHealth health{rules,
                     {{.name = "init", .hook = "prestart"},
                      {.name = "main", .hook = ""},
                      {.name = "after", .hook = "poststart"},
                      {.name = "clean", .hook = "poststop"}},
                     0s};
  const TaskState ended{.state = TaskRunState::DEAD, .started_at = 1, .finished_at = 2};
  CHECK(update(health, {ended, running_since(3), ended, TaskState{}}, 1s) == Verdict::undecided);
  CHECK(health.tick(11s) == Verdict::healthy);
}

TEST_CASE("alloc_health: the deadline makes it unhealthy, with a reason") {
  AllocHealth health{rules, {{.name = "a", .hook = ""}}, 0s};
  update(health, {TaskState{}}, 1s);
  CHECK(health.tick(5min) == Verdict::unhealthy);
  CHECK(health.explain(0, TaskState{}, 0, 5min) == "Task not running by healthy_deadline of 5m0s");
  CHECK(health.explain(0, {.state = TaskRunState::PENDING, .failed = true}, 0, 5min)
        == "Unhealthy because of failed task");
  const std::int64_t unix_now = 1'000'000'000'000;
  CHECK(health.explain(0, running_since(unix_now - 1), unix_now, 5min)
        == "Task not running for min_healthy_time of 10s by healthy_deadline of 5m0s");
  CHECK(health.explain(0, running_since(unix_now - 60'000'000'000), unix_now, 5min).empty());
}

TEST_CASE("alloc_health: checks have to pass as long, without a break") {
  auto with_checks = rules;
  with_checks.checks = 2;
  AllocHealth health{with_checks, {{.name = "a", .hook = ""}}, 0s};
  update(health, {running_since(1)}, 0s);
  CHECK(health.tick(20s) == Verdict::undecided);
  health.checks({passing, passing}, 20s);
  health.checks({passing, failing}, 25s);
  health.checks({passing, passing}, 26s);
  CHECK(health.tick(35s) == Verdict::undecided);
  CHECK(health.checks({passing, passing}, 36s) == Verdict::healthy);
}

TEST_CASE("alloc_health: failure beyond the tasks is unhealthy and blames none of them") {
  AllocHealth health{rules, {{.name = "a", .hook = ""}}, 0s};
  const TaskState state;
  const TaskState* states[] = {&state};
  CHECK(health.update(states, true, 1s) == Verdict::unhealthy);
  CHECK(health.explain(0, state, 0, 1s).empty());
}

TEST_CASE("alloc_health: a sidecar must go on, whenever it is started") {
  for (const char* hook : {"prestart", "poststart", "poststop"}) {
    CAPTURE(hook);
    AllocHealth health{rules, {{.name = "side", .hook = hook, .sidecar = true}}, 0s};
    const TaskState ended{.state = TaskRunState::DEAD, .started_at = 1, .finished_at = 2};
    CHECK(update(health, {ended}, 1s) == Verdict::unhealthy);
    CHECK(health.explain(0, ended, 0, 1s) == "Unhealthy because of dead task");
  }
}

TEST_CASE("alloc_health: a prestart or poststart task that fails is unhealthy") {
  for (const char* hook : {"prestart", "poststart"}) {
    AllocHealth health{rules, {{.name = "a", .hook = hook}}, 0s};
    CHECK(update(health, {{.state = TaskRunState::DEAD, .failed = true, .finished_at = 2}}, 1s)
          == Verdict::unhealthy);
  }
}

TEST_CASE("alloc_health: a poststart task that still runs has to have run for as long") {
  AllocHealth health{
      rules, {{.name = "main", .hook = ""}, {.name = "after", .hook = "poststart"}}, 0s};
  update(health, {running_since(1), TaskState{}}, 1s);
  CHECK(health.tick(20s) == Verdict::undecided);
  update(health, {running_since(1), running_since(21)}, 21s);
  CHECK(health.tick(31s) == Verdict::healthy);
}

TEST_CASE("alloc_health: with a restart the checks have to pass anew, too") {
  auto with_checks = rules;
  with_checks.checks = 1;
  AllocHealth health{with_checks, {{.name = "a", .hook = ""}}, 0s};
  update(health, {running_since(1)}, 1s);
  health.checks({passing}, 2s);
  update(health, {running_since(8)}, 8s);
  CHECK(health.tick(17s) == Verdict::undecided);
  CHECK(health.tick(18s) == Verdict::healthy);
}

TEST_CASE("alloc_health: news that change no start do not begin the wait again") {
  AllocHealth health{rules, {{.name = "a", .hook = ""}}, 0s};
  update(health, {running_since(1)}, 1s);
  update(health, {running_since(1)}, 9s);
  CHECK(health.tick(11s) == Verdict::healthy);
  CHECK(health.checks({failing}, 12s) == Verdict::healthy);  // which is final
}

TEST_CASE("alloc_health: looks again when the later of tasks and checks may be enough") {
  auto with_checks = rules;
  with_checks.checks = 1;
  AllocHealth health{with_checks, {{.name = "a", .hook = ""}}, 0s};
  CHECK(health.next_tick() == 5min);
  update(health, {running_since(1)}, 10s);
  CHECK(health.next_tick() == 5min);  // no check passes yet
  health.checks({passing}, 15s);
  CHECK(health.next_tick() == 25s);
  update(health, {running_since(20)}, 20s);
  CHECK(health.next_tick() == 30s);
  update(health, {running_since(295)}, 295s);
  CHECK(health.next_tick() == 5min);  // the deadline is earlier
  CHECK(health.tick(5min - 1ns) == Verdict::undecided);
  CHECK(health.tick(5min) == Verdict::unhealthy);
}

TEST_CASE("alloc_health: who is to blame at the deadline, and who is not") {
  auto with_checks = rules;
  with_checks.checks = 1;
  const AllocHealth health{with_checks,
                           {{.name = "main", .hook = ""},
                            {.name = "init", .hook = "prestart"},
                            {.name = "clean", .hook = "poststop"}},
                           0s};
  const TaskState dead{.state = TaskRunState::DEAD, .finished_at = 3};
  CHECK(health.explain(0, dead, 0, 5min) == "Unhealthy because of dead task");
  CHECK(health.explain(1, dead, 0, 5min).empty());
  CHECK(health.explain(2, TaskState{}, 0, 5min).empty());
  CHECK_FALSE(health.explain(1, TaskState{}, 0, 5min).empty());
  CHECK(health.explain(3, dead, 0, 5min).empty());  // there is no such task

  // At the deadline the task has run for just as long as it has to, or a nanosecond less.
  const std::int64_t unix_now = 1'000'000'000'000;
  const std::int64_t needed = 10'000'000'000;
  CHECK(health.explain(0, running_since(unix_now - needed), unix_now, 5min)
        == "Service checks not registered");
  CHECK(health.explain(0, running_since(unix_now - needed + 1), unix_now, 5min)
        == "Task not running for min_healthy_time of 10s by healthy_deadline of 5m0s");
  // A minute before the deadline it has a minute left.
  CHECK(health.explain(0, running_since(unix_now + 50'000'000'000), unix_now, 4min)
        == "Service checks not registered");
}

TEST_CASE("alloc_health: passing checks take the blame off") {
  auto with_checks = rules;
  with_checks.checks = 1;
  AllocHealth health{with_checks, {{.name = "main", .hook = ""}}, 0s};
  health.checks({passing}, 299s);
  CHECK(health.explain(0, running_since(0), 1'000'000'000'000, 5min).empty());
}

TEST_CASE(
    "alloc_health: a check that the job names and nobody has run keeps it from being healthy") {
  auto with_checks = rules;
  with_checks.checks = 2;
  AllocHealth health{with_checks, {{.name = "main", .hook = ""}}, 0s};
  update(health, {running_since(1)}, 0s);
  for (const auto& standings : std::vector<std::vector<CheckStanding>>{
           {}, {passing}, {passing, missing}, {missing, missing}})
    CHECK(health.checks(standings, 1min) == Verdict::undecided);
  CHECK(health.tick(5min - 1ns) == Verdict::undecided);
  CHECK(health.tick(5min) == Verdict::unhealthy);
}

TEST_CASE("alloc_health: a check that fails in the last moment counts") {
  auto with_checks = rules;
  with_checks.checks = 1;
  AllocHealth health{with_checks, {{.name = "main", .hook = ""}}, 0s};
  update(health, {running_since(1)}, 0s);
  health.checks({passing}, 5s);
  CHECK(health.checks({failing}, 15s - 1ns) == Verdict::undecided);
  CHECK(health.tick(15s) == Verdict::undecided);
  CHECK(health.next_tick() == 5min);
  CHECK(health.checks({passing}, 20s) == Verdict::undecided);
  CHECK(health.tick(30s) == Verdict::healthy);
}

TEST_CASE("alloc_health: the reason names the services whose checks do not pass") {
  auto with_checks = rules;
  with_checks.checks = 3;
  AllocHealth health{with_checks, {{.name = "a", .hook = ""}, {.name = "b", .hook = ""}}, 0s};
  const auto explain = [&](std::size_t task, std::vector<CheckStanding> standings) {
    health.checks(std::move(standings), 1min);
    return health.explain(task, running_since(0), 1'000'000'000'000, 5min);
  };
  const CheckStanding of_b{.task = "b", .service = "api", .kind = Kind::failing};
  CHECK(explain(0, {of_b, failing, failing}) == "Services not healthy by deadline: web");
  CHECK(explain(1, {of_b, failing, failing}) == "Services not healthy by deadline: api, web");
  CHECK(explain(0, {of_b, passing, passing}).empty());  // which is not a's fault
  CHECK(explain(0, {passing, missing, passing}) == "Only 2 out of 3 checks registered and passing");
  CHECK(explain(0, {missing, missing, missing}) == "Service checks not registered");
}
