// The order in which the tasks of an allocation may start.
#include "runtime/workload/task_coordinator.hpp"

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "runtime/workload/client_status.hpp"
#include "test/unit/runtime/workload/task_views.hpp"

using namespace nomad::workload;
using State = TaskCoordinator::State;

namespace {

const std::vector<Stage> all_stages{
    Stage::prestart_ephemeral,  Stage::prestart_sidecar,  Stage::main,
    Stage::poststart_ephemeral, Stage::poststart_sidecar, Stage::poststop};

std::vector<Stage> open_stages(const TaskCoordinator& coordinator) {
  std::vector<Stage> open;
  for (const auto stage : all_stages)
    if (coordinator.is_open(stage)) open.push_back(stage);
  return open;
}

using Tasks = std::vector<TaskView>;

}  // namespace

TEST_CASE("task_coordinator: all stages are gone through in order") {
  TaskCoordinator coordinator{all_stages};
  CHECK(open_stages(coordinator).empty());

  coordinator.update(Tasks{pending, pending, pending, pending, pending, pending});
  CHECK(open_stages(coordinator)
        == std::vector{Stage::prestart_ephemeral, Stage::prestart_sidecar});

  coordinator.update(Tasks{done, pending, pending, pending, pending, pending});
  CHECK(coordinator.state() == State::prestart);
  coordinator.update(Tasks{done, running, pending, pending, pending, pending});
  CHECK(open_stages(coordinator) == std::vector{Stage::prestart_sidecar, Stage::main});

  coordinator.update(Tasks{done, running, running, pending, pending, pending});
  CHECK(open_stages(coordinator)
        == std::vector{Stage::prestart_sidecar, Stage::main, Stage::poststart_ephemeral,
                       Stage::poststart_sidecar});

  coordinator.update(Tasks{done, running, running, done, running, pending});
  CHECK(open_stages(coordinator)
        == std::vector{Stage::prestart_sidecar, Stage::main, Stage::poststart_sidecar});

  coordinator.update(Tasks{done, done, done, done, done, pending});
  CHECK(open_stages(coordinator) == std::vector{Stage::poststop});
}

TEST_CASE("task_coordinator: a lone main task may start once it is pending") {
  TaskCoordinator coordinator{{Stage::main}};
  coordinator.update(Tasks{pending});
  CHECK(coordinator.is_open(Stage::main));
  coordinator.update(Tasks{running});
  CHECK(coordinator.state() == State::wait_alloc);
  coordinator.update(Tasks{pending});
  CHECK(coordinator.is_open(Stage::main));
}

TEST_CASE("task_coordinator: a failed prestart task keeps main closed; all dead opens poststop") {
  TaskCoordinator coordinator{{Stage::prestart_ephemeral, Stage::main, Stage::poststop}};
  coordinator.update(Tasks{pending, pending, pending});
  coordinator.update(Tasks{failed, pending, pending});
  CHECK_FALSE(coordinator.is_open(Stage::main));
  coordinator.update(Tasks{failed, done, pending});
  CHECK(coordinator.is_open(Stage::poststop));
}

TEST_CASE("task_coordinator: a restart waits until every task is pending again") {
  TaskCoordinator coordinator{{Stage::prestart_ephemeral, Stage::main}};
  coordinator.update(Tasks{pending, pending});
  coordinator.update(Tasks{done, running});
  coordinator.restart();
  coordinator.update(Tasks{pending, running});
  CHECK(open_stages(coordinator).empty());
  coordinator.update(Tasks{pending, pending});
  CHECK(coordinator.is_open(Stage::prestart_ephemeral));
  CHECK_FALSE(coordinator.is_open(Stage::main));
}

TEST_CASE("task_coordinator: restoring finds the state that running tasks imply") {
  TaskCoordinator coordinator{{Stage::prestart_ephemeral, Stage::main}};
  coordinator.restore(Tasks{done, running});
  CHECK(coordinator.state() == State::wait_alloc);

  TaskCoordinator early{{Stage::prestart_ephemeral, Stage::main}};
  early.restore(Tasks{running, pending});
  CHECK(early.state() == State::prestart);
}

TEST_CASE("task_coordinator: poststop and other stages are never open together, whatever happens") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed ", seed);
    nomad::Random random{seed};
    TaskCoordinator coordinator{all_stages};
    Tasks tasks(all_stages.size(), pending);
    for (int step = 0; step < 50; ++step) {
      tasks[random.below(tasks.size())]
          = std::array{pending, running, done, failed}[random.below(4)];
      coordinator.update(tasks);
      const auto open = open_stages(coordinator);
      if (coordinator.is_open(Stage::poststop)) CHECK(open.size() == 1);
      if (coordinator.is_open(Stage::main)) CHECK(coordinator.is_open(Stage::prestart_sidecar));
    }
  }
}

TEST_CASE("client_status: failed before running before pending before complete") {
  const auto status = [](Tasks tasks) { return client_status(tasks).status; };
  CHECK(status({failed, running, pending, done}) == ClientStatus::FAILED);
  CHECK(status({running, pending, done}) == ClientStatus::RUNNING);
  CHECK(status({pending, done}) == ClientStatus::PENDING);
  CHECK(status({done, done}) == ClientStatus::COMPLETE);
  CHECK(client_status(Tasks{done}).description == "All tasks have completed");
}

TEST_CASE("task_coordinator: a task's hook says when it runs") {
  CHECK(stage_of("", false) == Stage::main);
  CHECK(stage_of("prestart", false) == Stage::prestart_ephemeral);
  CHECK(stage_of("prestart", true) == Stage::prestart_sidecar);
  CHECK(stage_of("poststart", false) == Stage::poststart_ephemeral);
  CHECK(stage_of("poststart", true) == Stage::poststart_sidecar);
  CHECK(stage_of("poststop", false) == Stage::poststop);
}
