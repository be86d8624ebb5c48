// The simulated runner, step by step under a virtual clock.
#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "actors/nodesim/simulated_runner.hpp"
#include "test/support/anybody.hpp"
#include "test/support/node_questions.hpp"
#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::client;
using namespace std::chrono_literals;
using schema::ClientStatus;

namespace {

using Heard = std::shared_ptr<std::vector<sync::StateChanged>>;

AllocSync::behavior_type listen(AllocSync::pointer, Heard heard) {
  return {
      [heard](const sync::StateChanged& msg) { heard->push_back(msg); },
      [](const sync::Forget&) {},
      [](const sync::Open&) {},
      [](const sync::SendNow&) {},
      [](const sync::Restore&) {},
  };
}

using Told = std::shared_ptr<std::vector<alloc_runner::Status>>;

AllocRunnerParent::behavior_type parent(AllocRunnerParent::pointer, Told told) {
  return {
      [told](const alloc_runner::Status& msg) { told->push_back(msg); },
      [](const alloc_runner::AwaitEnd&) -> actor::Answer<alloc_runner::Ended> {
        return Error{Errc::not_found, "it runs nothing else"};
      },
  };
}

/// Answers each order by what `answers` has next, and then by a token for each.
struct Signing {
  std::vector<identity_signer::Sign> orders;
  std::vector<Result<std::string>> answers;  ///< A refusal, or why the servers can't be asked.
};

IdentitySigner::behavior_type sign(IdentitySigner::pointer, std::shared_ptr<Signing> signing) {
  return {[signing](const identity_signer::Sign& msg) -> actor::Answer<identity_signer::Signed> {
            const auto number = signing->orders.size();
            signing->orders.push_back(msg);
            identity_signer::Signed made;
            made.identities.resize(msg.wanted.size());
            for (auto& one : made.identities)
              one.token = SecretText{"token"};
            if (number >= signing->answers.size()) return made;
            if (!signing->answers[number]) return signing->answers[number].error();
            made.identities.back() = {.refused = *signing->answers[number]};
            return made;
          },
          [](const identity_signer::FollowClock&) {}};
}

struct Runner : test::ActorFixture {
  Heard heard = std::make_shared<std::vector<sync::StateChanged>>();
  Told told = std::make_shared<std::vector<alloc_runner::Status>>();
  Object<schema::Job> job = test::make_job({});
  AllocRunner runner;
  IdentitySigner signer{};

  void start(const nodesim::RunPlan& plan, const Object<schema::Allocation>& alloc) {
    auto context = std::make_shared<RunnerContext>();
    context->node_id = "node";
    context->seed = 5;
    context->sync = adopt(actor::spawn(system(), listen, heard));
    context->unix_now = [] { return std::int64_t{7}; };
    AllocSetup setup;
    setup.context = context;
    setup.alloc = alloc;
    setup.job = job;
    setup.parent = adopt(actor::spawn(system(), parent, told));
    runner = adopt(nodesim::spawn_simulated_runner(system(), setup, plan, signer));
    tell(runner, alloc_runner::Begin{});
  }

  ClientStatus last() const { return heard->back().update.alloc->client_status(); }
};

Object<schema::Allocation> in_deployment(const Object<schema::Allocation>& alloc) {
  return test::changed(alloc, 1, [](auto& draft) { draft.setDeploymentId("d"); });
}

}  // namespace

TEST_CASE_FIXTURE(Runner,
                  "simulated runner: runs, becomes healthy, and ends when its time is over") {
  start({.start_time = 100ms, .run_time = 10s, .healthy_after = 2s},
        in_deployment(test::make_alloc(job, 1)));
  advance(50ms);
  CHECK(heard->empty());

  advance(100ms);
  REQUIRE(heard->size() == 1);
  CHECK(last() == ClientStatus::RUNNING);
  CHECK(heard->back().update.alloc->task_states().size() == 1);
  advance(2s);
  REQUIRE(heard->size() == 2);
  CHECK(heard->back().update.alloc->health().value());
  advance(10s);

  CHECK(last() == ClientStatus::COMPLETE);
  REQUIRE(told->size() == 2);
  CHECK(told->back().over);
}

namespace {

/// Its only task shows the default identity and one with a name, and has one that shows nowhere.
struct Identified : Runner {
  std::shared_ptr<Signing> signing = std::make_shared<Signing>();

  Identified() {
    signer = adopt(actor::spawn(system(), sign, signing));
    Draft<schema::Job> draft{job};
    auto task = draft->getTaskGroups()[0].getTasks()[0];
    task.initIdentity().setEnv(true);
    auto named = task.initIdentities(2);
    named[0].setName("vault");
    named[0].setFile(true);
    named[1].setName("nowhere");
    job = draft.freeze();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Identified, "simulated runner: runs when the identities it shows are signed") {
  signing->answers = {Error{Errc::unavailable, "no leader"}};
  start({}, test::make_alloc(job, 1));
  advance(500ms);
  CHECK(heard->empty());
  REQUIRE(signing->orders.size() == 1);
  REQUIRE(signing->orders[0].wanted.size() == 2);
  CHECK(signing->orders[0].wanted[0].name.empty());
  CHECK(signing->orders[0].wanted[1].name == "vault");

  advance(1s);

  CHECK(signing->orders.size() == 2);
  REQUIRE(heard->size() == 1);
  CHECK(last() == ClientStatus::RUNNING);
}

TEST_CASE_FIXTURE(Identified, "simulated runner: fails when an identity is refused") {
  signing->answers = {std::string{"no such task"}};
  start({}, test::make_alloc(job, 1));
  advance(10ms);

  REQUIRE(heard->size() == 1);
  CHECK(last() == ClientStatus::FAILED);
}

TEST_CASE_FIXTURE(Runner, "simulated runner: fails at the rate of its plan") {
  start({.run_time = 1s, .fail_rate = 1}, test::make_alloc(job, 1));

  advance(2s);

  CHECK(last() == ClientStatus::FAILED);
  CHECK(heard->back().update.alloc->task_states()[0].getValue().getFailed());
}

TEST_CASE_FIXTURE(Runner, "simulated runner: is stopped by the servers, once") {
  const auto alloc = test::make_alloc(job, 1);
  start({}, alloc);
  advance(1h);
  REQUIRE(last() == ClientStatus::RUNNING);

  const auto stopped = test::changed(
      alloc, 2, [](auto& draft) { draft.setDesiredStatus(schema::DesiredStatus::STOP); });
  tell(runner, alloc_runner::Assign{stopped, job});
  tell(runner, alloc_runner::Assign{stopped, job});

  CHECK(last() == ClientStatus::COMPLETE);
  CHECK(heard->size() == 2);
}

TEST_CASE_FIXTURE(Runner, "simulated runner: chatters without changing its status") {
  start({.event_interval = 1s}, test::make_alloc(job, 1));

  advance(5500ms);

  REQUIRE(heard->size() == 6);
  for (const auto& each : *heard)
    CHECK(each.update.alloc->client_status() == ClientStatus::RUNNING);
  CHECK(heard->front().version < heard->back().version);
  CHECK(heard->front().update.state.digest != heard->back().update.state.digest);
}

TEST_CASE_FIXTURE(Runner, "simulated runner: leaves when told, and has no tasks to act on") {
  start({}, test::make_alloc(job, 1));

  const auto restarted = ask<door::NodeReply>(runner, test::restart_tasks("", ""));
  const auto gone = ask<alloc_runner::Done>(runner, alloc_runner::Detach{});

  CHECK(restarted->value().error().code == Errc::rejected);
  CHECK(gone->value().has_value());
}

TEST_CASE_FIXTURE(Runner, "simulated runner: whatever it has to do, one timer wakes it") {
  start({.start_time = 1ms, .run_time = 1h, .healthy_after = 20ms, .event_interval = 10ms},
        in_deployment(test::make_alloc(job, 1)));
  advance(5ms);
  hold("simulated_runner");
  advance(10s);
  CHECK(fullest("simulated_runner") == 1);
}
