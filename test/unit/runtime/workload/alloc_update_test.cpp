// Reports to the servers, and task states on their way to objects and back.
#include "runtime/workload/alloc_update.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace std::chrono_literals;
using namespace nomad;
using namespace nomad::workload;

namespace {

TaskState eventful() {
  TaskState state;
  state.append(task_event::make(task_event::received, 1));
  state.enter(TaskRunState::RUNNING, 2);
  state.append(task_event::exited(3, {.code = 3, .signal = 9, .oom_killed = true, .error = "no"}));
  state.append(task_event::restarting_in(4, 15s, "Restart within policy"));
  state.append(task_event::killing_within(5, 1min));
  state.append(task_event::will_not_restart(6, "enough"));
  state.enter(TaskRunState::DEAD, 7);
  return state;
}

AllocReport report_of(const TaskState& state) {
  return {.alloc_id = "a1",
          .node_id = "n1",
          .status = ClientStatus::RUNNING,
          .description = "Tasks are running",
          .tasks = {{"web", &state}},
          .health = std::nullopt,
          .assigned = {}};
}

}  // namespace

TEST_CASE("alloc_update: a task state survives the trip through an object") {
  const auto before = eventful();
  Draft<schema::TaskState> draft;
  write_task_state(before, *draft);
  CHECK(read_task_state(draft.reader()) == before);
}

TEST_CASE("alloc_update: the deprecated members repeat the details") {
  Draft<schema::TaskState> draft;
  write_task_state(eventful(), *draft);
  const auto events = draft.reader().getEvents();
  CHECK(events[1].getExitCode() == 3);
  CHECK(events[1].getSignal() == 9);
  CHECK(view(events[1].getMessage()) == "no");
  CHECK(events[2].getStartDelay() == 15'000'000'000);
  CHECK(view(events[2].getRestartReason()) == "Restart within policy");
  CHECK(events[3].getKillTimeout() == 60'000'000'000);
  CHECK(events[4].getFailsTask());
}

TEST_CASE("alloc_update: the digest ignores when, and nothing else") {
  const auto state = eventful();
  const auto first = make_update(report_of(state), 100);
  const auto later = make_update(report_of(state), 200);
  CHECK(first.state == later.state);
  CHECK(later.alloc->modify_time() == 200);

  auto changed = state;
  changed.append(task_event::message("Driver", 8, "x"));
  CHECK(make_update(report_of(changed), 100).state != first.state);
  auto described = report_of(state);
  described.description = "other";
  CHECK(make_update(described, 100).state != first.state);
}

TEST_CASE("alloc_update: health keeps what the servers said of the canary") {
  Draft<schema::Allocation> assigned;
  assigned->initDeploymentStatus().setCanary(true);
  const TaskState state;
  auto report = report_of(state);
  report.assigned = assigned.reader();
  CHECK_FALSE(make_update(report, 1).alloc->has_deployment_status());

  report.health = HealthStatus{.healthy = false, .timestamp = 9};
  const auto update = make_update(report, 1);
  const auto status = update.alloc->deployment_status();
  CHECK(status.getCanary());
  CHECK(status.getHealthy().isValue());
  CHECK_FALSE(status.getHealthy().getValue());
  CHECK(status.getTimestamp() == 9);
}

TEST_CASE("alloc_update: an allocation that cannot begin is reported as failed, task by task") {
  Draft<schema::Job> job;
  auto group = job->initTaskGroups(1)[0];
  group.setName("g");
  group.initTasks(1)[0].setName("web");
  Draft<schema::Allocation> alloc;
  alloc->setId("a1");
  alloc->setTaskGroup("g");
  alloc->setDeploymentId("d");

  const auto update = make_rejection(alloc.reader(), job.reader(), "no driver", 50);
  CHECK(update.alloc->client_status() == ClientStatus::FAILED);
  CHECK(update.alloc->client_description() == "Unable to add allocation due to error: no driver");
  const auto state = update.alloc->task_states()[0].getValue();
  CHECK(state.getFailed());
  CHECK(state.getFinishedAt() == 50);
  CHECK_FALSE(update.alloc->health().value());
}

TEST_CASE("alloc_update: each deprecated member has its own detail, and no other one") {
  const std::pair<const char*, capnp::Text::Reader (schema::TaskEvent::Reader::*)() const>
      members[]{{"restart_reason", &schema::TaskEvent::Reader::getRestartReason},
                {"setup_error", &schema::TaskEvent::Reader::getSetupError},
                {"driver_error", &schema::TaskEvent::Reader::getDriverError},
                {"kill_error", &schema::TaskEvent::Reader::getKillError},
                {"kill_reason", &schema::TaskEvent::Reader::getKillReason},
                {"download_error", &schema::TaskEvent::Reader::getDownloadError},
                {"validation_error", &schema::TaskEvent::Reader::getValidationError},
                {"failed_sibling", &schema::TaskEvent::Reader::getFailedSibling},
                {"vault_renewal_error", &schema::TaskEvent::Reader::getVaultError},
                {"task_signal_reason", &schema::TaskEvent::Reader::getTaskSignalReason},
                {"task_signal", &schema::TaskEvent::Reader::getTaskSignal},
                {"driver_message", &schema::TaskEvent::Reader::getDriverMessage}};
  for (const auto& [given, own] : members) {
    const auto& shown = given;
    CAPTURE(shown);
    TaskState state;
    TaskEvent event;
    event.type = "Setup";
    event.details = {{given, "value"}};
    state.append(event);
    Draft<schema::TaskState> draft;
    write_task_state(state, *draft);
    for (const auto& [other, member] : members)
      CHECK(view((draft.reader().getEvents()[0].*member)()) == (other == given ? "value" : ""));
  }
}

TEST_CASE("alloc_update: numbers of details are read to their last digit") {
  TaskState state;
  TaskEvent event;
  event.type = "Setup";
  event.details = {{"disk_limit", "1234"}};
  state.append(event);
  Draft<schema::TaskState> draft;
  write_task_state(state, *draft);
  CHECK(draft.reader().getEvents()[0].getDiskLimit() == 1234);
}

TEST_CASE(
    "alloc_update: a network is always told: what became of it, what the servers have, or none") {
  const TaskState state;
  auto report = report_of(state);
  CHECK(make_update(report, 1).alloc->has_network_status());

  Draft<schema::Allocation> assigned;
  assigned->initNetworkStatus().setAddress("10.0.0.1");
  report.assigned = assigned.reader();
  CHECK(view(make_update(report, 1).alloc->network_status().getAddress()) == "10.0.0.1");

  Draft<schema::TaskGroup> group;
  group->initNetworks(1)[0].initDns().initServers(1).set(0, "10.0.0.53");
  const auto status = host_network_status(group.reader());
  report.network = *status;
  const auto told = make_update(report, 1).alloc;
  CHECK(told->network_status().getAddress().size() == 0);
  CHECK(view(told->network_status().getDns().getServers()[0]) == "10.0.0.53");
}
