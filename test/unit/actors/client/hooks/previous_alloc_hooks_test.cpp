// Allocations that come after others: what they wait for, and what they take over.
#include "actors/client/hooks/previous_alloc_hooks.hpp"

#include <fstream>

#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using Strings = std::vector<std::string>;

namespace {

struct SuccessorFixture : ClientFixture {
  Object<schema::Job> job
      = make_job({.tasks = {{.config = R"({"run_for":"1h","kill_after":"5s"})"}}});

  void make_sticky(bool migrate = false) {
    Draft<schema::Job> draft{job};
    auto disk = draft->getTaskGroups()[0].initEphemeralDisk();
    disk.setSticky(true);
    disk.setMigrate(migrate);
    job = draft.freeze();
  }

  Object<schema::Allocation> successor(int number, int of) {
    return changed(make_alloc(job, number), 1,
                   [&](auto& draft) { draft.setPreviousAllocation(text(alloc_id(of))); });
  }

  std::string data(int number) const {
    return dir.file("allocs") + '/' + alloc_id(number) + "/alloc/data/db";
  }

  void write(int number) { std::ofstream{data(number)} << "rows"; }

  /// That a task is pending is no news for the servers.
  bool waits(int number) {
    return !heard.contains(alloc_id(number)) || status(number) == ClientStatus::PENDING;
  }

  bool runs(int number) { return status(number) == ClientStatus::RUNNING; }
};

}  // namespace

TEST_CASE_FIXTURE(SuccessorFixture,
                  "previous allocation: a replacement waits for the end of what it replaces") {
  start();
  assign(make_alloc(job, 1), job);
  advance(1s);
  assign(successor(2, 1), job);
  advance(10s);
  CHECK(waits(2));
  stop_alloc(1, 5);
  advance(2s);
  CHECK(waits(2));
  advance(5s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(runs(2));
  CHECK(previous_asked.empty());  // This node knows.
}

TEST_CASE_FIXTURE(SuccessorFixture, "previous allocation: preempted allocations are waited for") {
  start();
  assign(make_alloc(job, 1), job);
  assign(make_alloc(job, 2), job);
  advance(1s);
  assign(changed(make_alloc(job, 3), 1,
                 [](auto& draft) {
                   auto preempted = draft.initPreemptedAllocations(3);
                   preempted.set(0, text(alloc_id(1)));
                   preempted.set(1, text(alloc_id(2)));
                   preempted.set(2, text(alloc_id(9)));  // Of this node once, and collected.
                 }),
         job);
  stop_alloc(1, 5);
  advance(10s);
  CHECK(waits(3));
  stop_alloc(2, 6);
  advance(10s);
  CHECK(runs(3));
  CHECK(previous_asked.empty());
}

TEST_CASE_FIXTURE(SuccessorFixture, "previous allocation: the servers know of another node's") {
  start();
  previous.reset();
  assign(successor(2, 1), job);
  advance(60s);
  CHECK(previous_asked == Strings{alloc_id(2)});
  CHECK(waits(2));
  end_previous(Previous{.ended = false});  // They have waited long enough.
  settle();
  CHECK(previous_asked.size() == 2);
  end_previous(Previous{.ended = true});
  advance(1s);
  CHECK(runs(2));
}

TEST_CASE_FIXTURE(SuccessorFixture, "previous allocation: servers that are away are asked again") {
  start();
  previous = Result<Previous>{Error{Errc::no_leader, "No cluster leader"}};
  assign(successor(2, 1), job);
  advance(5s);
  CHECK(waits(2));
  CHECK(previous_asked.size() >= 3);
  previous = Previous{.ended = true};
  advance(10s);
  CHECK(runs(2));
}

TEST_CASE_FIXTURE(SuccessorFixture,
                  "previous allocation: what the servers know nothing of is not waited for") {
  start();
  previous = Result<Previous>{Error{Errc::not_found, "allocation not found"}};
  assign(successor(2, 1), job);
  advance(1s);
  CHECK(runs(2));
}

TEST_CASE_FIXTURE(SuccessorFixture,
                  "previous allocation: a kill ends the wait, and nothing starts") {
  start();
  previous.reset();
  assign(successor(2, 1), job);
  advance(1s);
  stop_alloc(2, 5);
  advance(1s);
  CHECK(status(2) == ClientStatus::COMPLETE);
  CHECK(std::ranges::count(events(2), "Started") == 0);
  end_previous(Previous{.ended = true});
  advance(1s);
  CHECK(std::ranges::count(events(2), "Started") == 0);
}

TEST_CASE_FIXTURE(
    SuccessorFixture,
    "previous allocation: after a crash it is waited for again, but not by what runs") {
  start(true);
  previous.reset();
  assign(successor(2, 1), job);
  advance(1s);
  crash();
  previous_asked.clear();
  start(true);
  push();
  advance(1s);
  CHECK(previous_asked == Strings{alloc_id(2)});
  end_previous(Previous{.ended = true});
  advance(1s);
  CHECK(runs(2));
  crash();
  previous_asked.clear();
  start(true);
  advance(1s);
  CHECK(previous_asked.empty());
}

TEST_CASE_FIXTURE(SuccessorFixture,
                  "previous allocation: a sticky disk goes over on the same node") {
  make_sticky();
  start();
  assign(make_alloc(job, 1), job);
  advance(1s);
  write(1);
  assign(successor(2, 1), job);
  stop_alloc(1, 5);
  advance(10s);
  CHECK(runs(2));
  CHECK(std::filesystem::exists(data(2)));
  CHECK_FALSE(std::filesystem::exists(data(1)));
}

TEST_CASE_FIXTURE(SuccessorFixture,
                  "previous allocation: a disk that is not sticky stays where it is") {
  start();
  assign(make_alloc(job, 1), job);
  advance(1s);
  write(1);
  assign(successor(2, 1), job);
  stop_alloc(1, 5);
  advance(10s);
  CHECK(runs(2));
  CHECK_FALSE(std::filesystem::exists(data(2)));
}

TEST_CASE_FIXTURE(SuccessorFixture,
                  "previous allocation: nothing is collected that is still to be taken over") {
  make_sticky();
  auto with = options();
  with.gc.max_allocs = 1;
  start(false, with);
  assign(make_alloc(job, 1), job);
  advance(1s);
  write(1);
  assign(successor(2, 1), job);
  stop_alloc(1, 5);
  advance(10s);
  CHECK(runs(2));
  CHECK(std::filesystem::exists(data(2)));
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs") + '/' + alloc_id(1)));
}

TEST_CASE_FIXTURE(
    SuccessorFixture,
    "previous allocation: a disk that cannot be fetched is told of, and done without") {
  make_sticky(true);
  start();
  previous = Previous{.ended = true, .http_address = "127.0.0.1:1", .migrate_token = "token"};
  assign(successor(2, 1), job);
  advance(1s);
  CHECK(runs(2));
  CHECK(events(2) == Strings{"Received", "Task hook message", "Task Setup", "Started"});
  const auto said = copy(task(2).getEvents()[1].getDisplayMessage());
  CHECK(said.find("could not be taken over") != std::string::npos);
  CHECK(said.find("connection refused") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs") + '/' + alloc_id(2) + "/.predecessor"));
}
