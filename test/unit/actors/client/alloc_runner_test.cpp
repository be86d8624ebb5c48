// An allocation's tasks: their order, restarts, death and what the servers hear of it.
#include "actors/client/alloc_runner.hpp"

#include <fmt/ranges.h>

#include "actors/client/hooks/function_hook.hpp"
#include "client_fixture.hpp"
#include "runtime/object/entries.hpp"
#include "test/support/anybody.hpp"
#include "test/support/node_questions.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::TaskRunState;
using Strings = std::vector<std::string>;

namespace {

constexpr auto forever = R"({"run_for":"1h"})";

}  // namespace

TEST_CASE_FIXTURE(ClientFixture,
                  "alloc_runner: a failing task restarts by its policy, then fails") {
  start();
  const auto job = make_job({.tasks = {{.config = R"({"run_for":"1s","exit_code":1})"}},
                             .restart_attempts = 1,
                             .restart_delay = 10s});
  assign(make_alloc(job, 1), job);
  advance(2s);
  CHECK(status(1) == ClientStatus::PENDING);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Started", "Terminated", "Restarting"});
  CHECK(view(task(1).getEvents()[3].getDisplayMessage()) == "Exit Code: 1");
  CHECK(task(1).getRestarts() == 1);

  advance(20s);
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(heard[alloc_id(1)]->client_description() == "Failed tasks");
  CHECK(events(1)
        == Strings{"Received", "Task Setup", "Started", "Terminated", "Restarting", "Started",
                   "Terminated", "Not Restarting"});
  CHECK(view(task(1).getEvents()[7].getDisplayMessage())
        == R"(Exceeded allowed attempts 1 in interval 30m0s and mode is "fail")");
  CHECK(task(1).getFailed());
  CHECK(task(1).getFinishedAt() != 0);
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_runner: only recoverable start errors are tried again") {
  start();
  const auto final_error = make_job({.id = "a", .tasks = {{.config = R"({"start_error":"no"})"}}});
  assign(make_alloc(final_error, 1), final_error);
  advance(1s);
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Driver Failure", "Not Restarting"});
  CHECK(view(task(1).getEvents()[2].getDisplayMessage()) == "no");
  CHECK(view(task(1).getEvents()[3].getDisplayMessage()) == "Error was unrecoverable");

  const auto again = make_job(
      {.id = "b", .tasks = {{.config = R"({"start_error":"no","start_error_recoverable":true})"}}});
  assign(make_alloc(again, 2), again);
  advance(2s);
  CHECK(events(2) == Strings{"Received", "Task Setup", "Driver Failure", "Restarting"});
}

TEST_CASE_FIXTURE(ClientFixture,
                  "alloc_runner: a misspelled key of the configuration is an error") {
  start();
  const auto job = make_job({.tasks = {{.config = R"({"run_fore":"1s"})"}}});
  assign(make_alloc(job, 1), job);
  advance(1s);
  CHECK(
      view(task(1).getEvents()[2].getDisplayMessage())
      == R"(failed to parse config: no argument or block type is named "run_fore"; did you mean "run_for"?)");
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_runner: a failed task takes its siblings along") {
  start();
  const auto job
      = make_job({.tasks = {{.name = "bad", .config = R"({"run_for":"5s","exit_code":2})"},
                            {.name = "good", .config = forever}},
                  .restart_attempts = 0});
  assign(make_alloc(job, 1), job);
  advance(10s);
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(events(1, "good")
        == Strings{"Received", "Task Setup", "Started", "Sibling Task Failed", "Killing",
                   "Terminated", "Killed"});
  CHECK(view(task(1, "good").getEvents()[3].getDisplayMessage())
        == "Task's sibling \"bad\" failed");
  CHECK_FALSE(task(1, "good").getFailed());
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_runner: the leader's end ends the others, sidecars last") {
  start();
  const auto job
      = make_job({.type = "batch",
                  .tasks = {{.name = "lead", .config = R"({"run_for":"5s"})", .leader = true},
                            {.name = "other", .config = R"({"run_for":"1h","kill_after":"2s"})"},
                            {.name = "side",
                             .config = R"({"run_for":"1h","kill_after":"1s"})",
                             .hook = "prestart",
                             .sidecar = true}}});
  assign(make_alloc(job, 1), job);
  advance(6s);
  CHECK(events(1, "other").at(3) == "Leader Task Dead");
  advance(5s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  const auto at = [this](std::string_view name, std::string_view type) {
    for (const auto event : task(1, name).getEvents())
      if (view(event.getType()) == type) return event.getTime();
    return std::int64_t{0};
  };
  CHECK(at("side", "Killing") >= at("other", "Terminated"));
  CHECK(at("other", "Terminated") - at("other", "Killing") == 2'000'000'000);
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_runner: lifecycle order, from prestart to poststop") {
  start();
  const auto job = make_job(
      {.type = "batch",
       .tasks = {{.name = "clean", .config = R"({"run_for":"1s"})", .hook = "poststop"},
                 {.name = "main", .config = R"({"run_for":"10s"})"},
                 {.name = "init", .config = R"({"run_for":"2s"})", .hook = "prestart"},
                 {.name = "side", .config = forever, .hook = "poststart", .sidecar = true}}});
  assign(make_alloc(job, 1), job);
  advance(1s);
  CHECK(task(1, "init").getState() == TaskRunState::RUNNING);
  CHECK(task(1, "main").getState() == TaskRunState::PENDING);

  advance(3s);
  CHECK(task(1, "init").getState() == TaskRunState::DEAD);
  CHECK(task(1, "main").getState() == TaskRunState::RUNNING);
  CHECK(task(1, "side").getState() == TaskRunState::RUNNING);
  CHECK(task(1, "clean").getState() == TaskRunState::PENDING);

  advance(20s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(events(1, "side").at(3) == "Main Tasks Dead");
  CHECK(events(1, "clean") == Strings{"Received", "Task Setup", "Started", "Terminated"});
  CHECK(task(1, "clean").getStartedAt() >= task(1, "side").getFinishedAt());
}

TEST_CASE_FIXTURE(ClientFixture,
                  "alloc_runner: poststop tasks run when the servers stop the group") {
  start();
  const auto job = make_job(
      {.tasks = {{.name = "main", .config = forever},
                 {.name = "clean", .config = R"({"run_for":"1s"})", .hook = "poststop"}}});
  assign(make_alloc(job, 1), job);
  stop_alloc(1, 2);
  advance(5s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(events(1, "clean") == Strings{"Received", "Task Setup", "Started", "Terminated"});
}

TEST_CASE_FIXTURE(ClientFixture,
                  "alloc_runner: a task that waits for its stage dies without running") {
  start();
  const auto job = make_job({.tasks = {{.name = "init", .config = forever, .hook = "prestart"},
                                       {.name = "main", .config = forever}}});
  assign(make_alloc(job, 1), job);
  stop_alloc(1, 2);
  advance(5s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(events(1, "main") == Strings{"Received", "Killing"});
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_runner: shutdown_delay comes before the kill") {
  start();
  const auto job = make_job({.tasks = {{.config = forever, .shutdown_delay = 3s}}});
  assign(make_alloc(job, 1), job);
  SUBCASE("in full") {
    stop_alloc(1, 2);
    advance(2s);
    CHECK(events(1).back() == "Waiting for shutdown delay");
    advance(2s);
    CHECK(events(1)
          == Strings{"Received", "Task Setup", "Started", "Killing", "Waiting for shutdown delay",
                     "Terminated", "Killed"});
  }
  SUBCASE("unless the servers say not to wait") {
    assigned[0].alloc = changed(assigned[0].alloc, 2, [](auto& draft) {
      draft.setDesiredStatus(schema::DesiredStatus::STOP);
      draft.initDesiredTransition().getNoShutdownDelay().setValue(true);
    });
    push();
    advance(1s);
    CHECK(status(1) == ClientStatus::COMPLETE);
    CHECK(events(1).at(4) == "Skipping shutdown delay");
  }
}

TEST_CASE_FIXTURE(ClientFixture,
                  "alloc_runner: a task that does not end is killed again, not lost") {
  start();
  // The mock ends after its grace at the latest, as a driver that kills does.
  const auto job = make_job(
      {.tasks = {{.config = R"({"run_for":"1h","kill_after":"10m"})", .kill_timeout = 4s}}});
  assign(make_alloc(job, 1), job);
  stop_alloc(1, 2);
  advance(3s);
  CHECK(status(1) == ClientStatus::RUNNING);
  advance(2s);
  CHECK(status(1) == ClientStatus::COMPLETE);
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_runner: restarts on request") {
  start();
  const auto job
      = make_job({.tasks = {{.name = "init", .config = R"({"run_for":"1s"})", .hook = "prestart"},
                            {.name = "main", .config = forever}}});
  assign(make_alloc(job, 1), job);
  advance(3s);

  SUBCASE("one task, without an attempt of its policy") {
    auto done = ask<door::NodeReply>(client, test::restart_tasks(alloc_id(1), "main", false));
    advance(2s);
    REQUIRE(done->has_value());
    CHECK((*done)->has_value());
    CHECK(events(1, "main")
          == Strings{"Received", "Task Setup", "Started", "Restart Signaled", "Terminated",
                     "Restarting", "Started"});
    CHECK(view(task(1, "main").getEvents()[5].getDisplayMessage()) == "Task restarting in 0s");
    CHECK(events(1, "init").back() == "Terminated");
  }
  SUBCASE("all of them, in lifecycle order") {
    auto done = ask<door::NodeReply>(client, test::restart_tasks(alloc_id(1), "", true));
    advance(500ms);
    CHECK(task(1, "init").getState() == TaskRunState::RUNNING);
    CHECK(task(1, "main").getState() == TaskRunState::PENDING);
    advance(3s);
    CHECK((*done)->has_value());
    CHECK(task(1, "init").getRestarts() == 1);
    CHECK(task(1, "main").getState() == TaskRunState::RUNNING);
    CHECK(status(1) == ClientStatus::RUNNING);
  }
  SUBCASE("running ones only") {
    ask<door::NodeReply>(client, test::restart_tasks(alloc_id(1), "", false));
    advance(3s);
    CHECK(task(1, "init").getRestarts() == 0);
    CHECK(task(1, "main").getRestarts() == 1);
  }
  SUBCASE("and refuses what makes no sense") {
    const auto error = [this](const std::string& task, bool all_tasks) {
      auto done = ask<door::NodeReply>(client, test::restart_tasks(alloc_id(1), task, all_tasks));
      return (*done)->error().what;
    };
    CHECK(error("init", false) == "Task not running");
    CHECK(error("nope", false) == "Could not find task runner for task: nope");
    CHECK(error("main", true) == "task name cannot be set when restarting all tasks");
  }
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_runner: signals reach running tasks") {
  start();
  const auto job = make_job(
      {.tasks = {{.name = "fine", .config = forever},
                 {.name = "deaf", .config = R"({"run_for":"1h","signal_error":"deaf"})"}}});
  assign(make_alloc(job, 1), job);
  auto one = ask<door::NodeReply>(client, test::signal_tasks(alloc_id(1), "fine", "SIGHUP"));
  CHECK((*one)->has_value());
  auto all = ask<door::NodeReply>(client, test::signal_tasks(alloc_id(1), "", "SIGHUP"));
  CHECK((*all)->error().what == "Failed to signal task: deaf, err: deaf");
  auto missing = ask<door::NodeReply>(client, test::signal_tasks(alloc_id(1), "nope", "SIGHUP"));
  CHECK((*missing)->error().what == "Task not found");
  advance(2s);
  CHECK(view(task(1, "fine").getEvents()[3].getDisplayMessage()) == "Task being sent a signal");
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_runner: health is decided once, and told") {
  start();
  const auto job = make_job({.min_healthy_time = 10s});
  auto alloc = changed(make_alloc(job, 1), 1, [](auto& draft) { draft.setDeploymentId("d1"); });
  assign(alloc, job);
  advance(9s);
  CHECK_FALSE(heard[alloc_id(1)]->health().has_value());
  advance(3s);
  REQUIRE(heard[alloc_id(1)]->health().has_value());
  CHECK(heard[alloc_id(1)]->health().value());
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_runner: a deployment hears that an allocation failed") {
  start();
  const auto job = make_job({.tasks = {{.config = R"({"run_for":"1s","exit_code":1})"}},
                             .restart_attempts = 0,
                             .min_healthy_time = 10s});
  assign(changed(make_alloc(job, 1), 1, [](auto& draft) { draft.setDeploymentId("d1"); }), job);
  advance(5s);
  REQUIRE(heard[alloc_id(1)]->health().has_value());
  CHECK_FALSE(heard[alloc_id(1)]->health().value());
  CHECK(events(1).back() == "Alloc Unhealthy");
  CHECK(view(task(1).getEvents()[static_cast<unsigned>(events(1).size() - 1)].getDisplayMessage())
        == "Unhealthy because of failed task");
}

TEST_CASE_FIXTURE(ClientFixture,
                  "alloc_runner: why it is unhealthy is told while its other tasks still end") {
  start();
  const auto job
      = make_job({.tasks = {{.name = "bad", .config = R"({"run_for":"1s","exit_code":1})"},
                            {.name = "slow", .config = R"({"run_for":"1h","kill_after":"4s"})"}},
                  .restart_attempts = 0,
                  .min_healthy_time = 10s});
  assign(changed(make_alloc(job, 1), 1, [](auto& draft) { draft.setDeploymentId("d1"); }), job);
  advance(15s);
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(events(1, "bad").back() == "Alloc Unhealthy");
  CHECK(events(1, "slow").back() == "Killed");
}

namespace {

/// A hook of allocations that fails, and one of tasks that writes down what it is asked.
struct HookFixture : ClientFixture {
  bool fails = false;
  std::vector<std::string> asked;

  client::PluginCatalog plugins() override {
    auto made = ClientFixture::plugins();
    made.hooks.of_allocs.push_back(
        {.name = "failing",
         .phases = {client::HookPhase::PRERUN},
         .wanted = [this](const client::HookScope&) { return fails; },
         .spawn = client::function_hook(
             steps, {{client::HookPhase::PRERUN,
                      [](const client::HookCall&) -> Result<client::HookResult> {
                        return Error{Errc::io, "no luck"};
                      }}})});
    made.hooks.of_tasks.push_back(
        {.name = "actor",
         .phases
         = {client::HookPhase::PRESTART, client::HookPhase::POSTSTART, client::HookPhase::PRE_KILL,
            client::HookPhase::EXITED, client::HookPhase::STOP},
         .spawn = [this](const actor::Owner& owner, const client::PluginAgent&,
                         const client::HookScope&) { return spawn_hook(owner); }});
    return made;
  }

  client::Hook spawn_hook(const actor::Owner& owner) {
    namespace hook = client::hook;
    return actor::spawn(owner, [this](client::Hook::pointer) -> client::Hook::behavior_type {
      return {
          [this](const hook::Run& msg) {
            note(*msg.request);
            Draft<schema::plugin::HookAnswer> answer;
            fill_entries(answer->initData(1), Texts{{"seen", "yes"}});
            fill_entries(answer->initEnvironment(1), Texts{{"FROM_HOOK", "1"}});
            return hook::Answered{answer.freeze()};
          },
          [](hook::Cancel) { return hook::Settled{}; },
          [](const hook::TasksChanged&) {},
      };
    });
  }

  using Texts = std::map<std::string, std::string>;

  void note(schema::plugin::HookRequest::Reader request) {
    const std::map<client::HookPhase, std::string> names{
        {client::HookPhase::PRESTART, "prestart "},
        {client::HookPhase::POSTSTART, "poststart"},
        {client::HookPhase::PRE_KILL, "pre_kill"},
        {client::HookPhase::EXITED, "exited"},
        {client::HookPhase::STOP, "stop"}};
    auto text = names.at(request.getPhase());
    if (request.getPhase() == client::HookPhase::PRESTART)
      text += std::to_string(request.getData().size());
    asked.push_back(text);
  }
};

}  // namespace

TEST_CASE_FIXTURE(HookFixture, "alloc_runner: a failed hook of the allocation fails every task") {
  fails = true;
  start();
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);
  advance(2s);
  CHECK(status(1) == ClientStatus::FAILED);
  CHECK(events(1) == Strings{"Received", "Setup Failure"});
  CHECK(view(task(1).getEvents()[1].getDisplayMessage())
        == "failed to setup alloc: pre-run hook \"failing\" failed: no luck");
}

TEST_CASE_FIXTURE(HookFixture,
                  "task_runner: an actor among the hooks is asked in each phase, once") {
  start();
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);
  ask<door::NodeReply>(client, test::restart_tasks(alloc_id(1), "web"));
  advance(1s);
  stop_alloc(1, 2);
  advance(10s);
  INFO(fmt::format("{}", fmt::join(asked, ", ")));
  CHECK(asked
        == Strings{"prestart 0", "poststart", "pre_kill", "exited", "prestart 1", "poststart",
                   "pre_kill", "exited", "stop"});
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_runner: an update in place reaches the running task") {
  start();
  const auto job = make_job({.restart_attempts = 0});
  assign(make_alloc(job, 1), job);
  const auto next = make_job({.tasks = {{.kill_timeout = 9s}}, .version = 1});
  assign(changed(make_alloc(next, 1), 2, [](auto&) {}), next);
  stop_alloc(1, 3);
  advance(3s);
  CHECK(view(task(1).getEvents()[3].getDisplayMessage())
        == "Sent interrupt. Waiting 9s before force killing");
}

namespace {

/// The job, with a group that takes its time to end.
Object<schema::Job> delayed(const Object<schema::Job>& job) {
  Draft<schema::Job> draft{job};
  draft->getTaskGroups()[0].getShutdownDelay().setValue(std::chrono::nanoseconds{10s}.count());
  return draft.freeze();
}

}  // namespace

TEST_CASE_FIXTURE(ClientFixture,
                  "alloc_runner: a group's shutdown_delay is waited for, if it may be") {
  start();
  const auto job = delayed(make_job({}));
  assign(make_alloc(job, 1), job);
  assign(make_alloc(job, 2), job);
  advance(1s);
  stop_alloc(1, 5);
  stop_alloc(2, 6);
  advance(8s);
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(events(1).back() == "Started");
  SUBCASE("the delay passes") {
    advance(5s);
    CHECK(status(1) == ClientStatus::COMPLETE);
  }
  SUBCASE("the servers cut it short") {
    auto hurried = changed(make_alloc(job, 1), 7, [](auto& draft) {
      draft.setDesiredStatus(schema::DesiredStatus::STOP);
      draft.initDesiredTransition().getNoShutdownDelay().setValue(true);
    });
    assign(hurried, job);
    advance(1s);
    CHECK(status(1) == ClientStatus::COMPLETE);
    CHECK(status(2) == ClientStatus::RUNNING);
  }
}
