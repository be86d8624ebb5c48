// Which starts begin the grace of checks.
#include "runtime/workload/checks/check_starts.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using workload::CheckStarts;
using Starts = std::vector<CheckStarts::Start>;
using RunState = schema::TaskRunState;

namespace {

struct Task {
  std::string name;
  RunState state;
  std::int64_t started = 0;
};

struct Group {
  Group() {
    Draft<schema::TaskGroup> group;
    auto tasks = group->initTasks(3);
    tasks[0].setName("web");
    tasks[1].setName("side");
    tasks[2].setName("last");
    tasks[2].initLifecycle().setHook("poststop");
    starts.set_group(*group.freeze());
  }

  Starts look(const std::vector<Task>& tasks) {
    Draft<schema::plugin::TaskStates> states;
    auto list = states->initTasks(static_cast<unsigned>(tasks.size()) + 1);
    for (unsigned i = 0; i < tasks.size(); ++i) {
      list[i].setName(text(tasks[i].name));
      list[i].setState(tasks[i].state);
      list[i].setStartedAt(tasks[i].started);
    }
    list[list.size() - 1].setName("last");  // pending to the end
    return starts.look((*states.freeze()).getTasks());
  }

  CheckStarts starts;
};

}  // namespace

TEST_CASE_FIXTURE(Group,
                  "check_starts: a task's start is told once, the group's when all are there") {
  CHECK(look({{"web", RunState::PENDING}, {"side", RunState::PENDING}}).empty());
  CHECK(look({{"web", RunState::PENDING}, {"side", RunState::RUNNING, 5}}) == Starts{{"side", 5}});
  CHECK(look({{"web", RunState::PENDING}, {"side", RunState::RUNNING, 5}}).empty());
  CHECK(look({{"web", RunState::RUNNING, 9}, {"side", RunState::RUNNING, 5}})
        == Starts{{"web", 9}, {"", 9}});
  CHECK(look({{"web", RunState::RUNNING, 9}, {"side", RunState::DEAD, 5}}).empty());
  CHECK(starts.known() == Starts{{"side", 5}, {"web", 9}, {"", 9}});
}

TEST_CASE_FIXTURE(Group, "check_starts: a task that has ended before keeps nobody waiting") {
  CHECK(look({{"web", RunState::PENDING}, {"side", RunState::DEAD, 5}}).empty());
  CHECK(look({{"web", RunState::RUNNING, 9}, {"side", RunState::DEAD, 5}})
        == Starts{{"web", 9}, {"", 9}});
}

TEST_CASE_FIXTURE(Group, "check_starts: a restart of one is a start of the group, too") {
  look({{"web", RunState::RUNNING, 3}, {"side", RunState::RUNNING, 5}});
  CHECK(look({{"web", RunState::PENDING, 3}, {"side", RunState::RUNNING, 5}}).empty());
  CHECK(look({{"web", RunState::RUNNING, 8}, {"side", RunState::RUNNING, 5}})
        == Starts{{"web", 8}, {"", 8}});
}

TEST_CASE_FIXTURE(Group, "check_starts: what runs while all are to be restarted is no start") {
  look({{"web", RunState::RUNNING, 3}, {"side", RunState::RUNNING, 5}});
  starts.begin_anew();
  CHECK(starts.known().empty());
  CHECK(
      look({{"web", RunState::RUNNING, 3}, {"side", RunState::RUNNING, 5}}).empty());  // they drain
  CHECK(look({{"web", RunState::RUNNING, 20}, {"side", RunState::RUNNING, 5}})
        == Starts{{"web", 20}});
  CHECK(look({{"web", RunState::RUNNING, 20}, {"side", RunState::PENDING, 5}}).empty());
  CHECK(look({{"web", RunState::RUNNING, 20}, {"side", RunState::RUNNING, 40}})
        == Starts{{"side", 40}, {"", 40}});
}
