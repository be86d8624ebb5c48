// A client that was without servers, or that the servers had given up.
#include "client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::DesiredStatus;

namespace {

struct ReconnectFixture : ClientFixture {
  const Object<schema::Job> job = make_job({});

  /// A job whose allocations end `patience` after the last heartbeat.
  static Object<schema::Job> impatient(Nanoseconds patience, const char* id = "impatient") {
    return make_job({.id = id, .stop_after_disconnect = patience});
  }

  /// The servers can't be reached from now on.
  void cut() {
    const Error away{Errc::unavailable, "no servers"};
    heartbeat_refusal = refusal = register_refusal = away;
  }

  void heal() {
    heartbeat_refusal.reset();
    refusal.reset();
    register_refusal.reset();
  }

  bool has_event(int number, std::string_view type) {
    for (const auto event : task(number).getEvents())
      if (view(event.getType()) == type) return true;
    return false;
  }
};

}  // namespace

TEST_CASE_FIXTURE(ReconnectFixture, "reconnect: everything is reported, then a heartbeat follows") {
  start();
  assign(make_alloc(job, 1), job);
  assign(make_alloc(job, 2), job);
  advance(5s);
  REQUIRE(status(1) == ClientStatus::RUNNING);
  REQUIRE(status(2) == ClientStatus::RUNNING);
  heard.clear();
  heard_order.clear();

  give_up();
  for (int i = 0; i < 120 && heard_order.empty(); ++i)
    advance(100ms);
  advance(500ms);

  // None of it waits for the next heartbeat's time.
  CHECK((heard_order == "huh" || heard_order == "huuh"));
  CHECK(heard.size() == 2);
  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK_FALSE(gave_up);
  // The servers are content: only ordinary heartbeats follow.
  heard_order.clear();
  advance(25s);
  CHECK(heard_order.find('u') == std::string::npos);
  CHECK(heard_order.size() <= 3);
}

TEST_CASE_FIXTURE(ReconnectFixture,
                  "reconnect: a refused report is sent again after the next heartbeat") {
  start();
  assign(make_alloc(job, 1), job);
  advance(5s);
  cut();
  advance(40s);
  heard.clear();
  heard_order.clear();

  heal();
  give_up();
  advance(3min);

  CHECK(heard_order.starts_with("huh"));
  CHECK(status(1) == ClientStatus::RUNNING);
}

TEST_CASE_FIXTURE(ReconnectFixture, "reconnect: who runs nothing has nothing to report") {
  start();
  advance(1s);
  heard_order.clear();

  give_up();
  advance(11s);

  CHECK(heard_order.starts_with("hh"));
  CHECK(heard_order.size() < 10);  // it goes on asking, but not for ever faster
}

TEST_CASE_FIXTURE(ReconnectFixture,
                  "reconnect: what the servers lost and nobody ran here is reported") {
  const auto lost = changed(make_alloc(job, 7), 5, [](auto& alloc) {
    alloc.setDesiredStatus(DesiredStatus::STOP);
    alloc.setClientStatus(ClientStatus::LOST);
  });
  assigned.push_back({lost, job});
  start();
  advance(1s);
  REQUIRE(heard.empty());

  give_up();
  advance(12s);

  CHECK(status(7) == ClientStatus::LOST);
  CHECK_FALSE(gave_up);
}

TEST_CASE_FIXTURE(ReconnectFixture,
                  "reconnect: an unknown allocation that is wanted goes on and says so") {
  start();
  const auto alloc = make_alloc(job, 1);
  assign(alloc, job);
  advance(2s);
  heard.clear();

  assign(changed(alloc, 9, [](auto& draft) { draft.setClientStatus(ClientStatus::UNKNOWN); }), job);
  advance(2s);

  CHECK(status(1) == ClientStatus::RUNNING);
  CHECK(has_event(1, "Reconnected"));
  CHECK(task(1).getRestarts() == 0);
}

TEST_CASE_FIXTURE(ReconnectFixture, "reconnect: an unknown allocation that is to stop is stopped") {
  start();
  const auto alloc = make_alloc(job, 1);
  assign(alloc, job);
  advance(2s);

  assign(changed(alloc, 9,
                 [](auto& draft) {
                   draft.setClientStatus(ClientStatus::UNKNOWN);
                   draft.setDesiredStatus(DesiredStatus::STOP);
                 }),
         job);
  advance(10s);

  CHECK(status(1) == ClientStatus::COMPLETE);
  CHECK_FALSE(has_event(1, "Reconnected"));
}

TEST_CASE_FIXTURE(ReconnectFixture,
                  "reconnect: the unknown state of an allocation that ended is corrected") {
  start();
  const auto batch
      = make_job({.id = "batch", .type = "batch", .tasks = {{.config = R"({"run_for":"1s"})"}}});
  const auto alloc = make_alloc(batch, 1);
  assign(alloc, batch);
  advance(5s);
  REQUIRE(status(1) == ClientStatus::COMPLETE);
  heard.clear();

  assign(changed(alloc, 9, [](auto& draft) { draft.setClientStatus(ClientStatus::UNKNOWN); }),
         batch);
  advance(2s);

  CHECK(status(1) == ClientStatus::COMPLETE);
}

TEST_CASE_FIXTURE(ReconnectFixture, "without servers: tasks go on, for hours") {
  start();
  assign(make_alloc(make_job({.tasks = {{.config = R"({"run_for":"100h"})"}}}), 1), job);
  advance(2s);
  cut();
  advance(3h);
  heal();
  advance(10min);
  CHECK(status(1) == ClientStatus::RUNNING);
}

TEST_CASE_FIXTURE(ReconnectFixture,
                  "without servers: stop_after_client_disconnect ends allocations, all at once") {
  const auto quick = impatient(30s, "quick");
  const auto patient = impatient(10min, "patient");
  start();
  for (int number = 1; number <= 5; ++number)
    assign(make_alloc(quick, number), quick);
  assign(make_alloc(patient, 6), patient);
  assign(make_alloc(job, 7), job);
  advance(15s);
  const auto count = [this] {
    const auto answer
        = ask<client::client_api::AllocCounts>(client, client::client_api::CountAllocs{});
    REQUIRE(answer->has_value());
    return **answer;
  };
  REQUIRE(count()->running == 7);

  cut();
  advance(19s);
  CHECK(count()->running == 7);  // the last heartbeat is at most ten seconds old
  advance(20s);
  CHECK(count()->running == 2);
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
  heal();
  advance(2min);
  for (int number = 1; number <= 5; ++number)
    CHECK(status(number) == ClientStatus::COMPLETE);
  CHECK(status(6) == ClientStatus::RUNNING);
  CHECK(status(7) == ClientStatus::RUNNING);
}

TEST_CASE_FIXTURE(ReconnectFixture,
                  "without servers: heartbeats come often enough for the least patient") {
  start();
  const auto quick = impatient(6s);
  assign(make_alloc(quick, 1), quick);
  advance(2min);
  CHECK(status(1) == ClientStatus::RUNNING);
}

TEST_CASE_FIXTURE(ReconnectFixture, "without servers: the count starts anew when the agent does") {
  start(true);
  const auto quick = impatient(30s);
  assign(make_alloc(quick, 1), quick);
  advance(5s);
  crash();
  heard.clear();
  cut();
  start(true);

  advance(25s);
  CHECK(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
  advance(20s);
  CHECK_FALSE(std::filesystem::exists(dir.file("allocs/" + alloc_id(1))));
}
