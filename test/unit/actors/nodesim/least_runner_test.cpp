// The least useful alloc runner: it reports that its allocation runs, and nothing else. This is all
// that is needed to stand in for the real one: twelve handlers, of which two do something. It is
// built from the interface alone (client_runner_dep), without the client.
#include <doctest/doctest.h>

#include "actors/client/runner.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/object/draft.hpp"
#include "test/support/actor_fixture.hpp"

using namespace nomad;
using namespace nomad::client;

namespace {

/// Everything that the runner does not know how to do.
template <class Reply>
actor::Answer<Reply> no() {
  return Error{Errc::rejected, "this runner only says that it runs"};
}

AllocRunner::behavior_type least_runner(AllocRunner::pointer self, AllocSetup setup) {
  const auto leave = [self] {
    self->quit();
    return alloc_runner::Done{};
  };
  return {
      [self, setup](const alloc_runner::Begin&) {
        const workload::AllocReport report{.alloc_id = setup.alloc->id(),
                                           .node_id = setup.context->node_id,
                                           .status = schema::ClientStatus::RUNNING,
                                           .description = {},
                                           .tasks = {},
                                           .health = {},
                                           .assigned = *setup.alloc};
        actor::send_urgent(self, setup.context->sync,
                           sync::StateChanged{std::string{setup.alloc->id()}, 1,
                                              workload::make_update(report, 0)});
      },
      [](const alloc_runner::Assign&) {},
      [](const alloc_runner::Reconnect&) {},
      [](const alloc_runner::ReportAgain&) {},
      [](const alloc_runner::ServersContacted&) {},
      [](const alloc_runner::DriverReplaced&) {},
      [](const alloc_runner::DiskLooked&) {},
      [leave](const alloc_runner::Destroy&) { return leave(); },
      [leave](const alloc_runner::Detach&) { return leave(); },
      [](const door::NodeAsk&) { return no<door::NodeReply>(); },
      [](const alloc_runner::ReadUsage&) { return no<client_api::AllocUsage>(); },
      [](const client_api::AllocDirOf&) { return no<client_api::AllocDir>(); },
      [](const client_api::Exec&) { return no<client_api::ExecStarted>(); },
  };
}

/// The factory that ClientParts takes.
const AllocRunnerFactory factory
    = [](const actor::Owner& owner, const std::shared_ptr<const AllocParts>&, AllocSetup setup) {
        return actor::spawn(owner, least_runner, std::move(setup));
      };

AllocSync::behavior_type listen(AllocSync::pointer,
                                std::shared_ptr<std::vector<sync::StateChanged>> heard) {
  return {
      [heard](const sync::StateChanged& msg) { heard->push_back(msg); },
      [](const sync::Forget&) {},
      [](const sync::Open&) {},
      [](const sync::SendNow&) {},
      [](const sync::Restore&) {},
  };
}

}  // namespace

TEST_CASE_FIXTURE(test::ActorFixture, "least runner: reports running when it begins, and leaves") {
  const auto heard = std::make_shared<std::vector<sync::StateChanged>>();
  auto context = std::make_shared<RunnerContext>();
  context->node_id = "node";
  context->sync = adopt(actor::spawn(system(), listen, heard));
  Draft<schema::Allocation> alloc;
  alloc->setId("alloc");

  AllocSetup setup;
  setup.context = context;
  setup.alloc = alloc.freeze();
  const auto runner = adopt(factory(system(), {}, setup));
  settle();
  CHECK(heard->empty());
  tell(runner, alloc_runner::Begin{});
  const auto left = ask<alloc_runner::Done>(runner, alloc_runner::Destroy{});

  REQUIRE(heard->size() == 1);
  CHECK((*heard)[0].alloc_id == "alloc");
  CHECK((*heard)[0].update.alloc->client_status() == schema::ClientStatus::RUNNING);
  REQUIRE(left->has_value());
  CHECK(left->value().has_value());
}
