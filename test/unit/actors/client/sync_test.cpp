// Prioritised sync, through the actors: what leaves when, under load and when servers fail.
#include <cstdlib>

#include "actors/roles/no_leader.hpp"
#include "client_fixture.hpp"
#include "runtime/base/failpoint.hpp"
#include "test/support/anybody.hpp"
#include "test/support/node_questions.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;

TEST_CASE_FIXTURE(ClientFixture, "alloc_sync: under load a status change overtakes what can wait") {
  start();
  // Many tasks restart all the time, which changes no ClientStatus but when they are pending; they
  // are kept running by a second task.
  for (int number = 1; number <= 20; ++number) {
    const auto job = make_job({.id = "j" + std::to_string(number)});
    assign(make_alloc(job, number), job);
  }
  advance(3s);
  batches.clear();
  std::vector<std::int64_t> sent_at;
  const auto began = unix_now();
  std::size_t known = 0;
  bool stopped = false;
  while (unix_now() < began + 5'000'000'000) {
    for (int number = 2; number <= 20; ++number)
      tell(client, test::signal_tasks(alloc_id(number), "web", "SIGHUP"));
    if (!stopped && unix_now() >= began + 2'300'000'000) {
      stopped = true;
      stop_alloc(1, 50);
    }
    advance(20ms);
    for (; known < batches.size(); ++known)
      sent_at.push_back((unix_now() - began) / 1'000'000);
  }
  // Ordinary updates leave once a second; the change leaves within a tick, with all that waits.
  REQUIRE(sent_at.size() >= 5);
  CHECK(sent_at.size() <= 6);
  std::int64_t urgent = 0;
  for (const auto at : sent_at)
    if (at >= 2300 && at <= 2540) urgent = at;
  CHECK(urgent != 0);
  CHECK(status(1) == ClientStatus::COMPLETE);
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_sync: a failed send is repeated, newest state first") {
  start();
  refusal = no_leader();
  const auto job = make_job({.type = "batch", .tasks = {{.config = R"({"run_for":"1s"})"}}});
  assign(make_alloc(job, 1), job);
  advance(3s);
  CHECK(heard.empty());
  refusal.reset();
  advance(12s);
  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK(batches == std::vector<std::size_t>{1});
}

TEST_CASE_FIXTURE(
    ClientFixture,
    "alloc_sync: an end that was lost with it is told again, also when it was collected"
        * doctest::skip(std::getenv("NOMAD_FAILPOINTS") == nullptr)) {
  start();
  refusal = no_leader();
  const auto job = make_job({.type = "batch", .tasks = {{.config = R"({"run_for":"1s"})"}}});
  assign(make_alloc(job, 1), job);
  advance(3s);
  ask<door::NodeReply>(client, test::collect_garbage());
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));

  REQUIRE(failpoint::configure("throw_in:alloc_sync=error@1").has_value());
  advance(12s);  // It tries again, and ends.
  REQUIRE(failpoint::configure("").has_value());
  CHECK(heard.empty());
  refusal.reset();
  advance(12s);
  CHECK(status(1) == ClientStatus::COMPLETE);
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_sync: nothing is sent when nothing changes") {
  start();
  const auto job = make_job({});
  assign(make_alloc(job, 1), job);
  advance(15s);  // After ten of them it is healthy, which is news.
  batches.clear();
  advance(10min);
  CHECK(batches.empty());
}

TEST_CASE_FIXTURE(ClientFixture, "alloc_sync: hundreds that start together need few updates") {
  start();
  std::vector<Object<schema::Job>> jobs;
  for (int number = 1; number <= 300; ++number) {
    jobs.push_back(make_job({.id = "j" + std::to_string(number)}));
    assigned.push_back({make_alloc(jobs.back(), number), jobs.back()});
  }
  push();
  advance(5s);
  for (int number = 1; number <= 300; ++number)
    CHECK(status(number) == ClientStatus::RUNNING);
  CHECK(batches.size() <= 4);
}
