// Tasks with a schedule, from the client's side: when they run, and orders in its place. It is
// 22:13:20 when a client of these tests begins.
#include "test/support/node_questions.hpp"
#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::TaskRunState;
using schema::TaskScheduleOrder;
using schema::TaskScheduleState;
using Strings = std::vector<std::string>;

namespace {

TaskSpec scheduled(const std::string& start, const std::string& end) {
  return {.schedule_start = start, .schedule_end = end};
}

const TaskSpec within = scheduled("0 22 * * * *", "30 22");
const TaskSpec outside = scheduled("0 9 * * * *", "0 16");

struct PauseFixture : ClientFixture {
  Result<> order(TaskScheduleOrder wanted, const std::string& name = "web") {
    auto done = ask<door::NodeReply>(client, pause_task(alloc_id(1), name, wanted));
    advance(2s);
    REQUIRE(done->has_value());
    if ((*done)->has_value()) return {};
    return (*done)->error();
  }

  Result<TaskScheduleState> read(const std::string& name = "web") {
    auto done = ask<door::NodeReply>(client, read_pause(alloc_id(1), name));
    REQUIRE(done->has_value());
    if (!(*done)->has_value()) return (*done)->error();
    return (***done)->getScheduleState();
  }
};

}  // namespace

TEST_CASE_FIXTURE(PauseFixture,
                  "pause: a task runs from its start to its end, and nothing counts") {
  start();
  const auto job
      = make_job({.tasks = {scheduled("15 22 * * * *", "20 22")}, .restart_attempts = 0});
  assign(make_alloc(job, 1), job);
  advance(2s);
  CHECK(status(1) == ClientStatus::PENDING);
  CHECK(task(1).getPaused() == TaskScheduleState::SCHEDULED_PAUSE);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Pausing"});

  advance(2min);
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(task(1).getPaused() == TaskScheduleState::RUN);

  advance(6min);
  CHECK(status(1) == ClientStatus::PENDING);
  CHECK(task(1).getState() == TaskRunState::PENDING);
  CHECK_FALSE(task(1).getFailed());
  CHECK(task(1).getRestarts() == 0);
  CHECK(events(1)
        == Strings{"Received", "Task Setup", "Pausing", "Running", "Started", "Pausing",
                   "Terminated", "Restarting"});

  advance(24h);
  CHECK(events(1).back() == "Restarting");
  CHECK(task(1).getState() == TaskRunState::PENDING);
  stop_alloc(1, 2);
  advance(2s);
  CHECK(status(1) == ClientStatus::COMPLETE);
}

TEST_CASE_FIXTURE(PauseFixture,
                  "pause: an order takes the place of the schedule, and survives the agent") {
  start(true);
  const auto job = make_job({.tasks = {within}});
  assign(make_alloc(job, 1), job);
  advance(2s);
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(read().value() == TaskScheduleState::RUN);

  REQUIRE(order(TaskScheduleOrder::PAUSE).has_value());
  CHECK(status(1) == ClientStatus::PENDING);
  CHECK(task(1).getPaused() == TaskScheduleState::FORCE_PAUSE);
  crash();
  start(true);
  advance(2s);
  CHECK(read().value() == TaskScheduleState::FORCE_PAUSE);
  CHECK(status(1) == ClientStatus::PENDING);

  REQUIRE(order(TaskScheduleOrder::SCHEDULED).has_value());
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(events(1)
        == Strings{"Received", "Task Setup", "Started", "Pausing", "Terminated", "Restarting",
                   "Running", "Started"});
}

TEST_CASE_FIXTURE(PauseFixture, "pause: what runs when the agent dies is paused by the next one") {
  start(true);
  const auto job = make_job({.tasks = {within}});
  assign(make_alloc(job, 1), job);
  advance(2s);
  CHECK(status(1) == ClientStatus::RUNNING);
  crash();
  advance(20min);
  start(true);
  advance(2s);
  CHECK(status(1) == ClientStatus::PENDING);
  CHECK(task(1).getPaused() == TaskScheduleState::SCHEDULED_PAUSE);
}

TEST_CASE_FIXTURE(PauseFixture, "pause: an update moves the schedule in place") {
  start();
  auto job = make_job({.tasks = {outside}});
  auto alloc = make_alloc(job, 1);
  assign(alloc, job);
  advance(2s);
  CHECK(status(1) == ClientStatus::PENDING);
  job = make_job({.tasks = {within}, .version = 1});
  assign(changed(alloc, 2, [](auto&) {}), job);
  advance(2s);
  CHECK(status(1) == ClientStatus::RUNNING);
}

TEST_CASE_FIXTURE(PauseFixture, "pause: an allocation of which a task is paused is healthy") {
  start();
  const auto job = make_job({.tasks = {outside}, .min_healthy_time = 10s});
  assign(changed(make_alloc(job, 1), 1, [](auto& draft) { draft.setDeploymentId("d"); }), job);
  advance(8s);
  CHECK_FALSE(heard.at(alloc_id(1))->health().has_value());
  advance(8s);
  CHECK(heard.at(alloc_id(1))->health() == true);
  REQUIRE(order(TaskScheduleOrder::RUN).has_value());
  advance(6min);
  CHECK(heard.at(alloc_id(1))->health() == true);
}

TEST_CASE_FIXTURE(PauseFixture, "pause: what has no schedule, or is not there, is told") {
  start();
  const auto job = make_job(
      {.tasks = {{.name = "free"},
                 {.name = "done", .config = R"({"run_for":"1s"})", .hook = "prestart"}}});
  assign(make_alloc(job, 1), job);
  advance(3s);
  CHECK(order(TaskScheduleOrder::RUN, "free").error()
        == Error{Errc::rejected, "task \"free\" has no schedule"});
  CHECK(read("free").error() == Error{Errc::rejected, "task \"free\" has no schedule"});
  CHECK(read("none").error()
        == Error{Errc::not_found, "Could not find task runner for task: none"});
  auto refused = ask<door::NodeReply>(
      client, pause_task(alloc_id(1), "free", TaskScheduleOrder::RUN,
                         somebody([](access::Capability needed, const access::Target&) {
                           return needed == access::Capability::read_job;
                         })));
  CHECK((*refused)->error().code == Errc::permission_denied);
}
