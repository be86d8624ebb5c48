// Nodes as the servers see them: registration, leases, watches and reports.
#include "actors/server/nodes/node_endpoint.hpp"

#include "node_fixture.hpp"
#include "runtime/cluster/restore_commands.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace nomad::test;
using namespace std::chrono_literals;
using schema::NodeStatus;

namespace {

struct EndpointFixture : NodeFixture {
  /// A node that the schedulers may use.
  void make_ready() {
    REQUIRE(register_node().has_value());
    REQUIRE(beat().has_value());
    REQUIRE(status() == NodeStatus::READY);
  }
};

}  // namespace

TEST_CASE_FIXTURE(EndpointFixture,
                  "a new node has a class and a lease, and is ready when it beats") {
  const auto registered = register_node();
  REQUIRE(registered.has_value());
  CHECK(registered->ttl >= 10s);
  CHECK(status() == NodeStatus::INITIALIZING);
  CHECK(view(state().node(id)->getComputedClass()).starts_with("v1:"));
  CHECK(beat()->ttl >= 10s);
  CHECK(status() == NodeStatus::READY);
  CHECK_FALSE(beat()->awaits_reports);
}

TEST_CASE_FIXTURE(EndpointFixture, "another secret is refused, an unknown node must register") {
  CHECK(beat().error().code == Errc::not_found);
  REQUIRE(register_node().has_value());
  CHECK(register_node("stolen").has_error());
  CHECK(view(state().node(id)->getSecretId()) == "secret");
}

TEST_CASE_FIXTURE(EndpointFixture, "a silent node goes down, and comes back by two heartbeats") {
  make_ready();
  advance(9s);
  commit();
  CHECK(status() == NodeStatus::READY);
  advance(60s);
  commit();
  CHECK(status() == NodeStatus::DOWN);
  const auto lease = beat();
  REQUIRE(lease.has_value());
  CHECK(lease->awaits_reports);
  CHECK(status() == NodeStatus::INITIALIZING);
  CHECK_FALSE(beat()->awaits_reports);  // it runs nothing, so it owes nothing
  CHECK(status() == NodeStatus::READY);
}

TEST_CASE_FIXTURE(EndpointFixture, "a ready node that learns a driver has its jobs evaluated") {
  Draft<schema::Job> agent{make_job("agent", 1)};
  agent->setType("system");
  register_job(agent.freeze());
  make_ready();
  const auto count = [this] {
    std::size_t evals = 0;
    const auto snapshot = state();
    for (const auto& entry : snapshot.evals_by_job("default", "agent"))
      evals += entry.value()->getTriggeredBy() == schema::EvalTrigger::NODE_UPDATE ? 1 : 0;
    return evals;
  };
  const auto before = count();
  REQUIRE(register_node().has_value());  // nothing new
  CHECK(count() == before);
  Draft<schema::Node> changed{node()};
  auto driver = changed->initDrivers(1)[0];
  driver.setKey("docker");
  driver.initValue().setDetected(true);
  driver.getValue().setHealthy(true);
  ask<door::Reply>(tracker, registration(changed.freeze()));
  commit();
  CHECK(count() == before + 1);
}

TEST_CASE_FIXTURE(EndpointFixture, "a watch is answered by what is new for the node") {
  register_job(make_job("web", 3));
  REQUIRE(register_node().has_value());
  const auto first = place(0);
  const auto all = watch(0);
  REQUIRE(all->has_value());
  CHECK(told(all).complete);
  REQUIRE(told(all).allocs.size() == 1);
  CHECK(told(all).allocs[0].job);
  const auto waiting = watch(told(all).index);
  CHECK_FALSE(waiting->has_value());
  report(first, schema::ClientStatus::RUNNING);  // its own word is no news
  commit();
  CHECK_FALSE(waiting->has_value());
  const auto second = place(1);
  REQUIRE(waiting->has_value());
  REQUIRE(told(waiting).allocs.size() == 1);
  CHECK(told(waiting).allocs[0].alloc->id() == second);
  const auto later = watch(told(waiting).index);
  advance(300s);
  REQUIRE(later->has_value());
  CHECK(told(later).allocs.empty());
}

TEST_CASE_FIXTURE(EndpointFixture,
                  "a question about a previous allocation is held until that has ended") {
  register_job(make_job("web", 2));
  make_ready();
  const auto old = place();
  const auto fresh = place(1, old);
  const auto ask_of = [this](const std::string& alloc, const std::string& node) {
    return ask<door::Reply>(endpoint, await_previous(node, alloc));
  };
  CHECK((***ask_of(old, id))->getPrevious().getEnded());  // It replaces nothing.
  CHECK((*ask_of(fresh, "another"))->has_error());
  CHECK((*ask_of("nothing", id))->error().code == Errc::not_found);

  const auto patient = ask_of(fresh, id);
  CHECK_FALSE(patient->has_value());
  advance(300s);
  REQUIRE(patient->has_value());
  CHECK_FALSE((***patient)->getPrevious().getEnded());

  const auto void_now = ask_of(fresh, id);
  const auto held = ask_of(fresh, id);
  REQUIRE(void_now->has_value());  // One question an allocation.
  CHECK_FALSE((***void_now)->getPrevious().getEnded());
  REQUIRE(beat().has_value());
  const auto running = report(old, schema::ClientStatus::RUNNING);
  commit();
  CHECK_FALSE(held->has_value());
  const auto complete = report(old, schema::ClientStatus::COMPLETE);
  commit();
  REQUIRE(held->has_value());
  CHECK((***held)->getPrevious().getEnded());
  CHECK((***held)->getPrevious().getMigrateToken().size() == 0);  // It is at home.

  lease->set(0);
  CHECK((*ask_of(fresh, id))->has_error());
}

TEST_CASE_FIXTURE(EndpointFixture, "unknown nodes that ask are bounded") {
  const auto ask_as = [this](const std::string& node, std::uint64_t min_index) {
    return ask<door::Reply>(endpoint, watch_allocs(node, min_index));
  };
  std::size_t waiting = 0;
  std::size_t refused = 0;
  for (int number = 0; number < 300; ++number) {
    const auto name = "nobody-" + std::to_string(number);
    const auto answer = ask_as(name, 0);
    REQUIRE(answer->has_value());
    if (answer->value().has_error()) {
      CHECK(answer->value().error()
            == Error{Errc::overloaded, "too many unknown nodes ask what they should run"});
      ++refused;
    } else if (!ask_as(name, told(answer).index)->has_value()) {
      ++waiting;
    }
  }
  CHECK(waiting == 256);
  CHECK(refused == 300 - 256);
  // Whom the state has is served all the same.
  REQUIRE(register_node().has_value());
  CHECK((*watch(0))->has_value());
}

TEST_CASE_FIXTURE(EndpointFixture,
                  "a leader without its lease does not say what a node should run") {
  REQUIRE(register_node().has_value());
  register_job(make_job("web", 1));
  place(0);
  lease->set(0);
  const auto refused = watch(0);
  REQUIRE(refused->has_value());
  REQUIRE_FALSE((*refused)->has_value());
  CHECK((*refused)->error().code == Errc::no_leader);
  lease->set(raft::LeaderLease::unlimited);
  const auto all = watch(0);
  REQUIRE((*all)->has_value());
  CHECK(told(all).allocs.size() == 1);
  const auto waiting = watch(told(all).index);
  lease->set(0);  // another leads by now, and has written more
  place(1);
  REQUIRE(waiting->has_value());
  CHECK_FALSE((*waiting)->has_value());
}

TEST_CASE_FIXTURE(EndpointFixture, "collected allocations make the next answer complete") {
  register_job(make_job("web", 2));
  REQUIRE(register_node().has_value());
  const auto gone = place(0);
  place(1);
  const auto all = watch(0);
  REQUIRE(told(all).allocs.size() == 2);
  const auto waiting = watch(told(all).index);
  write([&](schema::Command::Builder command) {
    command.initReap().initAllocationIds(1).set(0, text(gone));
  });
  REQUIRE(waiting->has_value());
  CHECK(told(waiting).complete);
  CHECK(told(waiting).allocs.size() == 1);
}

TEST_CASE_FIXTURE(EndpointFixture, "a complete answer misses nothing that comes right after it") {
  register_job(make_job("web", 1));
  REQUIRE(register_node().has_value());
  const auto alloc = place(0);
  REQUIRE(told(watch(0)).allocs.size() == 1);
  register_job(make_job("other", 1));
  // The endpoint has told nobody of this index: another leader has.
  const auto all = watch(state().index());
  REQUIRE(all->has_value());
  CHECK(told(all).complete);
  CHECK(told(all).index == state().index());
  const auto waiting = watch(told(all).index);
  CHECK_FALSE(waiting->has_value());
  write([&](schema::Command::Builder command) {
    auto stopped = command.initPlanResults().initPlans(1)[0].initStopped(1)[0];
    stopped.setId(text(alloc));
    stopped.setDesiredStatus(schema::DesiredStatus::STOP);
  });
  REQUIRE(waiting->has_value());
  CHECK_FALSE(told(waiting).complete);
  REQUIRE(told(waiting).allocs.size() == 1);
  CHECK(told(waiting).allocs[0].alloc->desired_status() == schema::DesiredStatus::STOP);
}

TEST_CASE_FIXTURE(EndpointFixture, "a restored state makes the next answer complete") {
  register_job(make_job("web", 2));
  REQUIRE(register_node().has_value());
  const auto saved = place(0);
  cluster::RestoreCommands restoring{"r"};
  const auto then = state();
  for (std::uint32_t i = 0; i < state::stored_tables; ++i) {
    const auto table = static_cast<state::Table>(i);
    const auto added = then.for_each_row(
        table, [&](std::string_view key, std::span<const std::byte> value) -> Result<> {
          restoring.add(state::to_string(table), key, value);
          return {};
        });
    REQUIRE(added.has_value());
  }
  write([&](schema::Command::Builder command) {
    command.initReap().initAllocationIds(1).set(0, text(saved));
  });
  place(1);
  const auto all = watch(0);
  const auto waiting = watch(told(all).index);  // one allocation as before, and yet another

  for (const auto& each : restoring.finish(then.index()))
    write([&](schema::Command::Builder command) {
      if (each->isRestoreBegin()) command.setRestoreBegin(each->getRestoreBegin());
      if (each->isRestoreRows()) command.setRestoreRows(each->getRestoreRows());
      if (each->isRestoreFinish()) command.setRestoreFinish(each->getRestoreFinish());
    });

  REQUIRE(waiting->has_value());
  CHECK(told(waiting).complete);
  const auto last = told(waiting).index < state().index() ? watch(told(waiting).index) : waiting;
  REQUIRE(last->has_value());
  REQUIRE(told(last).allocs.size() == 1);
  CHECK(told(last).allocs[0].alloc->id() == saved);
}

TEST_CASE_FIXTURE(EndpointFixture,
                  "reports: the first at once, those that come meanwhile together") {
  Draft<schema::Job> job{make_job("web", 3)};
  job->getTaskGroups()[0].initReschedulePolicy().setUnlimited(true);
  register_job(job.freeze());
  REQUIRE(register_node().has_value());
  const auto first = place(0);
  const auto second = place(1);
  const auto third = place(2);
  const auto a = report(first, schema::ClientStatus::RUNNING);
  const auto b = report(second, schema::ClientStatus::RUNNING);
  const auto c = report(third, schema::ClientStatus::FAILED);
  CHECK(commit_once() == 1);
  settle();
  CHECK(a->has_value());
  CHECK_FALSE(b->has_value());
  CHECK(commit_once() == 1);
  settle();
  CHECK(b->has_value());
  CHECK(c->has_value());
  CHECK(state().alloc(third)->alloc->client_status() == schema::ClientStatus::FAILED);
  bool evaluated = false;
  const auto snapshot = state();
  for (const auto& entry : snapshot.evals_by_job("default", "web"))
    evaluated = evaluated || entry.value()->getTriggeredBy() == schema::EvalTrigger::ALLOC_FAILURE;
  CHECK(evaluated);
}

TEST_CASE_FIXTURE(NodeFixture, "leases are counted by the metrics, and what their ends cost") {
  const auto shown = [this] { return metrics->prometheus(1); };
  CHECK(shown().find("nomad_nomad_heartbeat_active 0") != std::string::npos);
  REQUIRE(register_node().has_value());
  advance(1s);
  CHECK(shown().find("nomad_nomad_heartbeat_active 1") != std::string::npos);
  CHECK(shown().find("heartbeat_invalidate") == std::string::npos);
  advance(60s);
  commit();
  CHECK(shown().find("nomad_nomad_heartbeat_active 0") != std::string::npos);
  CHECK(shown().find("nomad_nomad_heartbeat_invalidate_count 1") != std::string::npos);
}
