// kill -9 of the agent, and what the next one makes of what it left. The mock driver's tasks are
// recovered by what was saved, so these tests show what is saved when; real processes are in
// raw_exec_test.
#include <set>
#include <span>

#include "actors/client/tools/client_db.hpp"
#include "actors/roles/no_leader.hpp"
#include "client_fixture.hpp"
#include "runtime/workload/node/alloc_ledger.hpp"
#include "test/support/fake_driver.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::TaskRunState;
using Strings = std::vector<std::string>;

TEST_CASE_FIXTURE(ClientFixture, "restore: a running task goes on, without an event or an update") {
  start(true);
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);
  advance(15s);
  const auto started_at = task(1).getStartedAt();
  const auto node_id = copy(node->getId());
  batches.clear();

  crash();
  start(true);
  advance(30s);
  CHECK(copy(node->getId()) == node_id);
  CHECK(batches.empty());
  CHECK(task(1).getStartedAt() == started_at);

  stop_alloc(1, 2);
  advance(10s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(events(1)
        == Strings{"Received", "Task Setup", "Started", "Killing", "Terminated", "Killed"});
}

TEST_CASE_FIXTURE(ClientFixture,
                  "restore: a task that ended meanwhile is noticed, and not run again") {
  start(true);
  const auto job = make_job({.type = "batch", .tasks = {{.config = R"({"run_for":"1m"})"}}});
  assign(make_alloc(job, 1), job);
  crash();
  advance(5min);
  start(true);
  advance(2s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Started", "Terminated"});

  crash();
  batches.clear();
  start(true);
  advance(30s);
  CHECK(batches.empty());
}

TEST_CASE_FIXTURE(ClientFixture,
                  "restore: updates that were not acknowledged are sent, others not") {
  start(true);
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);
  advance(2s);
  refusal = no_leader();
  const auto more = make_job({.id = "more"});
  assign(make_alloc(more, 2), more);
  CHECK_FALSE(heard.contains(alloc_id(2)));
  crash();
  batches.clear();
  refusal.reset();
  start(true);
  advance(5s);
  CHECK(batches == std::vector<std::size_t>{1});
  CHECK(status(2) == ClientStatus::RUNNING);
}

TEST_CASE_FIXTURE(ClientFixture,
                  "restore: what the servers stopped while the agent was away is stopped") {
  start(true);
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);
  advance(2s);
  crash();
  assigned[0].alloc = changed(assigned[0].alloc, 9, [](auto& draft) {
    draft.setDesiredStatus(schema::DesiredStatus::STOP);
  });
  start(true);
  advance(10s);
  CHECK(status(1) == ClientStatus::COMPLETE);
}

TEST_CASE_FIXTURE(ClientFixture,
                  "restore: what the servers forgot while the agent was away is removed") {
  start(true);
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);
  crash();
  assigned.clear();
  start(true);
  advance(10s);
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
}

TEST_CASE_FIXTURE(ClientFixture, "restore: reports of the next agent are newer than the last's") {
  start(true);
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);
  advance(15s);
  const auto before = report_number;
  CHECK(before > 0);

  crash();
  start(true);
  stop_alloc(1, 2);
  advance(10s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(report_number > before);
}

TEST_CASE_FIXTURE(ClientFixture,
                  "restore: a node that lost its state reports above what the servers have") {
  const auto job = make_job({});
  const auto known = std::uint64_t{7} << 32U | 5U;
  assigned.push_back({changed(make_alloc(job, 1), 1,
                              [&](schema::Allocation::Builder alloc) {
                                alloc.setReportNumber(known);
                                alloc.setClientStatus(ClientStatus::RUNNING);
                              }),
                      job});
  start(true);
  advance(5s);
  const auto number = report_number;
  CHECK(number > known);

  crash();
  start(true);
  stop_alloc(1, 2);
  advance(10s);
  CHECK(report_number > number);
}

TEST_CASE_FIXTURE(ClientFixture, "restore: a destroyed allocation does not come back") {
  auto with = options();
  with.gc.max_allocs = 0;
  start(true, with);
  const auto job = make_job({.type = "batch", .tasks = {{.config = R"({"run_for":"1s"})"}}});
  assign(make_alloc(job, 1), job);
  advance(5s);
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
  crash();
  // The servers still list it, with what they heard of it.
  assigned[0].alloc = changed(assigned[0].alloc, assigned[0].alloc->alloc_modify_index(),
                              [](auto& draft) { draft.setClientStatus(ClientStatus::COMPLETE); });
  batches.clear();
  start(true, with);
  advance(30s);
  CHECK(batches.empty());
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
}

TEST_CASE_FIXTURE(ClientFixture, "restore: health that was decided stays decided") {
  start(true);
  const auto job = make_job({.min_healthy_time = 10s});
  assign(changed(make_alloc(job, 1), 1, [](auto& draft) { draft.setDeploymentId("d1"); }), job);
  advance(12s);
  const auto decided = heard[alloc_id(1)]->deployment_status().getTimestamp();
  CHECK(decided != 0);
  crash();
  batches.clear();
  start(true);
  advance(1min);
  CHECK(batches.empty());
}

TEST_CASE("restore: the verdict of one deployment is not the next one's") {
  // The agent dies somewhere between the new deployment's assignment and its health.
  for (int steps = 0; steps < 60; steps += 2) {
    INFO("steps before the crash: ", steps);
    ClientFixture test;
    test.start(true);
    const auto job = make_job({.min_healthy_time = 10s});
    test.assign(changed(make_alloc(job, 1), 1, [](auto& draft) { draft.setDeploymentId("d1"); }),
                job);
    test.advance(12s);
    const auto first = test.heard[alloc_id(1)]->deployment_status().getTimestamp();
    REQUIRE(first != 0);

    const auto next
        = changed(make_alloc(job, 1), 2, [](auto& draft) { draft.setDeploymentId("d2"); });
    test.assigned = {{next, job}};
    actor::tell(test.servers, Push{});
    test.run_steps(steps);
    test.crash();
    test.start(true);
    test.push();
    test.advance(15s);
    CHECK(test.heard[alloc_id(1)]->deployment_status().getTimestamp() > first);
  }
}

namespace {

/// A driver that loses every task it is asked to recover.
struct ForgetfulDriver : ClientFixture {
  int starts = 0;
  std::optional<Error> destroy_refusal;

  client::PluginCatalog plugins() override {
    auto made = ClientFixture::plugins();
    made.drivers.emplace("forgetful", fake_driver([this](auto, const auto&, auto request) {
                           return answer(request);
                         }));
    return made;
  }

  std::optional<actor::Answer<client::driver::Answered>> answer(DriverRequest::Reader request) {
    using client::driver::failed;
    if (request.isStartTask()) ++starts;
    if (request.isRecoverTask()) return failed({Errc::unavailable, "gone"});
    if (request.isStopTask()) return client::driver::found_nothing();
    if (request.isDestroyTask() && destroy_refusal) return failed(*destroy_refusal);
    return std::nullopt;
  }
};

}  // namespace

TEST_CASE_FIXTURE(ForgetfulDriver,
                  "restore: a lost task waits for the servers before it runs again") {
  start(true);
  const auto job = make_job({.tasks = {{.config = "{}", .driver = "forgetful"}}});
  assign(make_alloc(job, 1), job);
  CHECK(starts == 1);
  crash();

  index = 0;
  auto servers_away = servers;
  bool reachable = false;
  servers
      = adopt(actor::spawn(system(), [&](FakeServers::pointer self) -> FakeServers::behavior_type {
          return {[&, self, servers_away](const door::Ask& msg) -> actor::Answer<door::Reply> {
                    switch (msg->which()) {
                      case door::Question::REGISTER:
                        if (!reachable) return no_leader();
                        return to_reply(Lease{10s});
                      case door::Question::HEARTBEAT:
                        return to_reply(Lease{10s});
                      case door::Question::AWAIT_PREVIOUS:
                        return to_reply(Previous{.ended = true});
                      case door::Question::WATCH_DATA:
                        return Error{Errc::unavailable, "away"};
                      default:
                        return self->delegate(servers_away, msg);
                    }
                  },
                  [](Push) {}};
        }));
  start(true);
  advance(10s);
  CHECK(starts == 1);

  reachable = true;
  advance(5s);
  CHECK(starts == 2);
  CHECK(events(1)
        == Strings{"Received", "Task Setup", "Started", "Failed Restoring Task", "Started"});
}

TEST_CASE_FIXTURE(ForgetfulDriver, "restore: what may still run keeps its directory") {
  start();
  const auto job = make_job({.tasks = {{.config = "{}", .driver = "forgetful"}}});
  assign(make_alloc(job, 1), job);
  assign(make_alloc(job, 2), job);
  crash_runner(1);
  destroy_refusal = Error{Errc::io, "it does not end"};
  crash_runner(2);
  advance(1s);

  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
  CHECK(std::filesystem::exists(dir.file("allocs/" + alloc_id(2))));
}

TEST_CASE_FIXTURE(ClientFixture, "restore: a driver that crashes is replaced, its tasks go on") {
  start();
  const auto job
      = make_job({.tasks = {{.config = R"({"run_for":"1h","plugin_exit_after":"5s"})"}}});
  assign(make_alloc(job, 1), job);
  advance(10s);
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(events(1) == Strings{"Received", "Task Setup", "Started"});

  stop_alloc(1, 2);
  advance(5s);
  CHECK(status(1) == ClientStatus::COMPLETE);
}

TEST_CASE("restore: whatever was saved last, the next agent carries on") {
  // The agent dies after each number of steps that the schedule allows: before, between and after
  // the saves of a start, a stop, an end. Whatever it left, the next one brings the allocation to
  // the state that the servers want, and the task runs at most once at a time.
  for (int steps = 0; steps < 120; steps += 3) {
    INFO("steps before the crash: ", steps);
    ClientFixture test;
    test.start(true);
    const auto job = make_job({});
    const auto alloc = make_alloc(job, 1);
    test.assigned.push_back({alloc, job});
    actor::tell(test.servers, Push{});
    test.run_steps(steps);
    test.crash();
    test.start(true);
    test.push();
    test.advance(30s);
    REQUIRE(test.heard.contains(alloc_id(1)));
    CHECK(test.status(1) == ClientStatus::RUNNING);
    const auto events = test.events(1);
    CHECK(std::count(events.begin(), events.end(), "Started") == 1);

    test.stop_alloc(1, 2);
    test.advance(30s);
    CHECK(test.status(1) == ClientStatus::COMPLETE);
  }
}

namespace {

struct SavedRows {
  int allocs = 0;
  std::set<std::string> job_keys;
  bool misses_a_job = false;  ///< Of an allocation.
};

SavedRows rows_of(storage::ClientStore& store) {
  SavedRows rows;
  const auto scan = [&store](storage::Bucket bucket, const auto& take) {
    REQUIRE(store
                .scan(bucket, "",
                      [&take](std::string_view key, Result<std::string_view> value) -> Result<> {
                        REQUIRE(value.has_value());
                        take(key, *value);
                        return {};
                      })
                .has_value());
  };
  scan(storage::Bucket::job,
       [&rows](std::string_view key, std::string_view) { rows.job_keys.emplace(key); });
  scan(storage::Bucket::alloc, [&rows](std::string_view, std::string_view value) {
    const auto alloc = Object<schema::Allocation>::from_bytes(
        std::as_bytes(std::span{value.data(), value.size()}));
    REQUIRE(alloc.has_value());
    ++rows.allocs;
    if (!rows.job_keys.contains(workload::job_key(**alloc))) rows.misses_a_job = true;
  });
  return rows;
}

}  // namespace

TEST_CASE_FIXTURE(ClientFixture,
                  "restore: an update is saved together with the job that it names") {
  start(true);
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);
  advance(2s);
  const auto next_job = make_job({.version = 1});
  assigned = {{make_alloc(next_job, 1, 2), next_job}};
  actor::tell(servers, Push{});
  for (int steps = 0; steps < 100; ++steps) {
    run_steps(1);
    const auto rows = rows_of(*store);
    INFO("steps: ", steps);
    CHECK(rows.allocs == 1);
    CHECK_FALSE(rows.misses_a_job);
  }
  CHECK(rows_of(*store).job_keys == std::set{workload::job_key(*next_job)});
}

TEST_CASE_FIXTURE(ClientFixture,
                  "restore: a runner that crashes at its end leaves others their job") {
  auto with = options();
  with.gc.max_allocs = 1;
  start(true, with);
  const auto job = make_job({.tasks = {{.config = R"({"run_for":"1h","kill_after":"2s"})"}}});
  assign(make_alloc(job, 1), job);
  assign(make_alloc(job, 2), job);
  forget(1);
  crash_runner(1);
  advance(10s);

  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
  const auto rows = rows_of(*store);
  CHECK(rows.allocs == 1);
  CHECK_FALSE(rows.misses_a_job);

  crash();
  start(true, with);
  stop_alloc(2, 2);
  advance(10s);
  CHECK(status(2) == ClientStatus::COMPLETE);
  forget(2);
  advance(1s);
  CHECK(rows_of(*store).job_keys.empty());
}

TEST_CASE_FIXTURE(
    ClientFixture,
    "restore: an allocation that is being removed when the agent ends goes on to its end") {
  start(true);
  const auto job = make_job(
      {.tasks = {{.config = R"({"run_for":"1h","kill_after":"20s"})", .kill_timeout = 30s}}});
  assign(make_alloc(job, 1), job);
  forget(1);
  auto stopped = ask<client::client_actor::Stopped>(client, client::client_actor::Stop{});
  advance(1s);
  REQUIRE(stopped->has_value());
  CHECK(rows_of(*store).allocs == 1);

  start(true);
  advance(1min);
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
  CHECK(rows_of(*store).allocs == 0);
}
