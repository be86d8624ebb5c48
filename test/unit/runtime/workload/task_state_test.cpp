#include "runtime/workload/task_state.hpp"

#include <doctest/doctest.h>

using namespace nomad::workload;
namespace event = nomad::workload::task_event;

TEST_CASE("task steps: what a task went through, each once") {
  TaskState state;
  const auto step = [&state](auto change) {
    const auto before = state;
    change();
    return steps_between(before, state);
  };
  CHECK(step([] {}) == TaskSteps{});
  CHECK(step([&] { state.enter(TaskRunState::RUNNING, 1); }) == TaskSteps{.running = 1});
  CHECK(step([&] { state.append(event::exited(2, {.code = 137, .oom_killed = true})); })
        == TaskSteps{.oom_killed = 1});
  CHECK(step([&] {
          state.append({std::string{event::restarting}, 3, ""});
        })
        == TaskSteps{.restarts = 1});
  CHECK(step([&] {
          state.enter(TaskRunState::PENDING, 3);
          state.enter(TaskRunState::RUNNING, 4);
          state.append(event::exited(5, {.code = 1}));
        })
        == TaskSteps{});
  CHECK(step([&] { state.enter(TaskRunState::DEAD, 6); }) == TaskSteps{.complete = 1});
  CHECK(step([&] { state.enter(TaskRunState::DEAD, 7); }) == TaskSteps{});

  TaskState other;
  other.enter(TaskRunState::RUNNING, 1);
  const auto running = other;
  other.failed = true;
  other.enter(TaskRunState::DEAD, 2);
  CHECK(steps_between(running, other) == TaskSteps{.failed = 1});
}

TEST_CASE("task steps: events that were dropped hide none of the new ones") {
  TaskState before;
  for (int i = 0; i < 10; ++i)
    before.append(event::exited(i, {.code = 137, .oom_killed = true}));
  auto now = before;
  for (int i = 10; i < 13; ++i)
    now.append(event::exited(i, {.code = 137, .oom_killed = true}));
  CHECK(steps_between(before, now).oom_killed == 3);
  for (int i = 13; i < 40; ++i)
    now.append(event::exited(i, {.code = 137, .oom_killed = true}));
  CHECK(steps_between(before, now).oom_killed == 10);
}
