// runtime/workload/kill_stages: who is killed when, and why.
#include "runtime/workload/kill_stages.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "test/unit/runtime/workload/task_views.hpp"

using namespace nomad;
using namespace nomad::workload;
using KillStage = KillStages::Stage;
using Locations = std::vector<std::size_t>;

namespace {

const KillStages::Task main_task{.name = "main"};
const KillStages::Task other{.name = "other"};
const KillStages::Task leader{.name = "leader", .leader = true};
const KillStages::Task sidecar{.name = "sidecar", .sidecar = true};
const KillStages::Task poststop{.name = "poststop", .poststop = true};

std::string why(std::vector<KillStages::Task> tasks, std::vector<TaskView> states) {
  const auto event = KillStages{std::move(tasks)}.reason(states, 1);
  return event ? event->display_message : "";
}

}  // namespace

TEST_CASE("kill_stages: the leader ends first, then the others, sidecars last, poststop never") {
  KillStages stages{{sidecar, main_task, poststop, leader, other}};

  CHECK(stages.begin());
  CHECK(stages.advance().empty());
  CHECK(stages.hooks_answered() == Locations{3});
  CHECK(stages.advance().empty());
  stages.ended(3);
  CHECK(stages.advance() == Locations{1, 4});
  stages.ended(4);
  CHECK(stages.advance().empty());
  stages.ended(1);
  CHECK(stages.advance() == Locations{0});
  CHECK(stages.stage() == KillStage::sidecars);
  stages.ended(0);
  CHECK(stages.advance().empty());
  CHECK(stages.stage() == KillStage::all);
  CHECK_FALSE(stages.all_ended());
  stages.ended(2);
  CHECK(stages.all_ended());
}

TEST_CASE("kill_stages: a stage without living tasks is passed at once") {
  KillStages only_sidecars{{sidecar, sidecar}};
  only_sidecars.begin();
  CHECK(only_sidecars.hooks_answered() == Locations{0, 1});

  KillStages led{{leader, main_task}};
  led.ended(0);
  led.begin();
  CHECK(led.hooks_answered() == Locations{1});

  KillStages only_poststop{{poststop}};
  only_poststop.begin();
  CHECK(only_poststop.hooks_answered().empty());
  CHECK(only_poststop.stage() == KillStage::all);
}

TEST_CASE("kill_stages: a leader that is a sidecar ends as the leader") {
  KillStages stages{{{.name = "proxy", .leader = true, .sidecar = true}, main_task}};
  stages.begin();
  CHECK(stages.hooks_answered() == Locations{0});
}

TEST_CASE("kill_stages: killing begins once") {
  KillStages stages{{main_task}};
  CHECK(stages.hooks_answered().empty());
  CHECK(stages.stage() == KillStage::none);
  CHECK(stages.begin());
  CHECK_FALSE(stages.begin());
  CHECK(stages.hooks_answered() == Locations{0});
  CHECK(stages.hooks_answered().empty());
  CHECK_FALSE(stages.begin());
}

TEST_CASE(
    "kill_stages: tasks are killed when a sibling failed, their leader or all main tasks died") {
  CHECK(why({main_task, other}, {running, running}).empty());
  CHECK(why({main_task, other}, {done, running}).empty());
  CHECK(why({main_task, other}, {failed, running}) == "Task's sibling \"main\" failed");
  CHECK(why({main_task, other, sidecar}, {failed, failed, pending})
        == "Task's sibling \"main\" failed");
  CHECK(why({leader, other}, {done, running}) == "Leader Task in Group dead");
  CHECK(why({leader, other}, {failed, running}) == "Task's sibling \"leader\" failed");
  CHECK(why({main_task, leader, other}, {failed, done, running}) == "Leader Task in Group dead");
  CHECK(why({leader, main_task, other}, {done, failed, running}) == "Leader Task in Group dead");
  CHECK(why({main_task, sidecar}, {done, running}) == "Main tasks in the group died");
  CHECK(why({main_task, sidecar}, {done, pending}) == "Main tasks in the group died");
  CHECK(why({main_task, sidecar}, {pending, running}).empty());
}

TEST_CASE("kill_stages: nobody is killed for poststop tasks, or when nothing lives") {
  CHECK(why({main_task, poststop}, {running, failed}).empty());
  CHECK(why({main_task, sidecar, poststop}, {done, running, pending})
        == "Main tasks in the group died");
  CHECK(why({main_task, poststop}, {failed, pending}).empty());
  CHECK(why({leader, sidecar}, {done, done}).empty());
}

TEST_CASE("kill_stages: once killing has begun there is no reason to") {
  KillStages stages{{main_task, other}};
  const std::vector<TaskView> states{failed, running};
  CHECK(stages.reason(states, 1).has_value());
  stages.begin();
  CHECK_FALSE(stages.reason(states, 1).has_value());
}

TEST_CASE("kill_stages: when nothing lives, the dead need not wait for a restart any longer") {
  KillStages stages{{main_task, sidecar, poststop, other}};
  CHECK(stages.take_idle(std::vector{done, pending, pending, done}).empty());
  stages.ended(3);
  const std::vector<TaskView> states{done, done, pending, done};
  CHECK(stages.take_idle(states) == Locations{0, 1});
  CHECK(stages.take_idle(states).empty());
  stages.begin();
  CHECK(stages.hooks_answered().empty());
}

TEST_CASE("kill_stages: whatever ends when, all are killed once and in their order") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Random random{seed};
    std::vector<KillStages::Task> tasks(1 + random.below(6));
    for (auto& task : tasks)
      task = {.name = "task",
              .leader = random.chance(0.2),
              .sidecar = random.chance(0.4),
              .poststop = random.chance(0.2)};
    const auto rank = [&tasks](std::size_t i) {
      return tasks[i].leader ? 0 : tasks[i].sidecar ? 2 : 1;
    };
    KillStages stages{tasks};
    std::vector<bool> killed(tasks.size()), ended(tasks.size());
    const auto kill = [&](const Locations& positions) {
      for (const auto i : positions) {
        REQUIRE_FALSE(killed[i]);
        REQUIRE_FALSE(ended[i]);
        REQUIRE((tasks[i].leader || !tasks[i].poststop));
        killed[i] = true;
        for (std::size_t k = 0; k < tasks.size(); ++k)
          if ((tasks[k].leader || !tasks[k].poststop) && rank(k) < rank(i)) REQUIRE(ended[k]);
      }
    };

    REQUIRE(stages.begin());
    kill(stages.hooks_answered());
    for (int steps = 0; steps < 200; ++steps) {
      const auto i = random.below(tasks.size());
      if (!ended[i] && (killed[i] || random.chance(0.05))) {
        ended[i] = true;
        stages.ended(i);
      }
      kill(stages.advance());
    }

    CHECK(stages.stage() == KillStage::all);
    for (std::size_t i = 0; i < tasks.size(); ++i)
      CHECK((ended[i] || tasks[i].poststop));
  }
}
