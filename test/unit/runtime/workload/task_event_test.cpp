// Events: their texts, and what appending one does to a task's state.
#include "runtime/workload/task_event.hpp"

#include <doctest/doctest.h>

#include "runtime/workload/task_state.hpp"

using namespace std::chrono_literals;
using namespace nomad::workload;

TEST_CASE("task_event: the sentences are the ones users know") {
  CHECK(task_event::make(task_event::received, 1).display_message == "Task received by client");
  CHECK(task_event::make(task_event::started, 1).display_message == "Task started by client");
  CHECK(task_event::exited(1, {.code = 1}).display_message == "Exit Code: 1");
  CHECK(task_event::exited(1, {.code = 137, .signal = 9, .error = "say \"hi\""}).display_message
        == R"(Exit Code: 137, Signal: 9, Exit Message: "say \"hi\"")");
  CHECK(task_event::restarting_in(1, 15s, "Restart within policy").display_message
        == "Task restarting in 15s");
  CHECK(task_event::restarting_in(1, 90s, "Exceeded allowed attempts, applying a delay")
            .display_message
        == "Exceeded allowed attempts, applying a delay - Task restarting in 1m30s");
  CHECK(task_event::killing_within(1, 5s).display_message
        == "Sent interrupt. Waiting 5s before force killing");
  CHECK(task_event::killing_within(1, 0s).display_message == "Sent interrupt");
  CHECK(task_event::was_killed(1).display_message == "Task successfully killed");
  CHECK(task_event::was_killed(1, "no way").display_message == "no way");
  CHECK(task_event::failed_sibling(1, "web").display_message == "Task's sibling \"web\" failed");
  CHECK(task_event::signal_sent(1).display_message == "Task being sent a signal");
  CHECK(task_event::waiting_for_delay(1, 3s, false).display_message
        == "Waiting for shutdown_delay of 3s before killing the task.");
  CHECK(task_event::waiting_for_delay(1, 3s, true).display_message
        == "Skipping shutdown_delay of 3s before killing the task.");
}

TEST_CASE("task_event: details are sorted, and set once each") {
  const auto event = task_event::make("Test", 1).with("b", "1").with("a", "2").with("b", "3");

  REQUIRE(event.details.size() == 2);
  CHECK(event.details[0].first == "a");
  CHECK(event.detail("b") == "3");
  CHECK(event.detail("c").empty());
}

TEST_CASE("task_event: a hook's failure is called by what the hook does") {
  const auto usual = task_event::hook_failure(1, task_event::hook_failed, "volumes", "none");
  CHECK(usual.type == "Task hook failed");
  CHECK(usual.display_message == "volumes: none");
  const auto download
      = task_event::hook_failure(1, task_event::artifact_download_failed, "artifacts", "404");
  CHECK(download.type == "Failed Artifact Download");
  CHECK(download.display_message == "404");
  CHECK(download.detail("download_error") == "404");
  CHECK(task_event::make(task_event::downloading_artifacts, 1).display_message
        == "Client is downloading artifacts");
}

TEST_CASE("task_state: only the ten newest events are kept") {
  TaskState state;
  for (int i = 0; i < 13; ++i)
    state.append(task_event::message("Driver", i, std::to_string(i)));

  REQUIRE(state.events.size() == 10);
  CHECK(state.events.front().display_message == "3");
  CHECK(state.events.back().display_message == "12");
}

TEST_CASE("task_state: an event can fail the task, for good, and a restart is counted") {
  TaskState state;
  state.append(task_event::restarting_in(7, 1s, "Restart within policy"));
  CHECK(state.restarts == 1);
  CHECK(state.last_restart == 7);
  CHECK_FALSE(state.failed);

  state.append(task_event::will_not_restart(8, "Policy allows no restarts"));
  state.append(task_event::make(task_event::started, 9));
  CHECK(state.failed);
}

TEST_CASE("task_state: start is taken at each start, the end only once") {
  TaskState state;
  state.enter(TaskRunState::RUNNING, 10);
  state.enter(TaskRunState::RUNNING, 11);
  CHECK(state.started_at == 10);

  state.enter(TaskRunState::DEAD, 20);
  state.enter(TaskRunState::PENDING, 25);
  state.enter(TaskRunState::RUNNING, 30);
  state.enter(TaskRunState::DEAD, 40);
  CHECK(state.started_at == 30);
  CHECK(state.finished_at == 20);
}
