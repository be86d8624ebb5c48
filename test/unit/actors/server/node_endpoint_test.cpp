// Nodes as the servers see them: registration, leases, watches and reports.
#include "actors/server/node_endpoint.hpp"

#include "server_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace nomad::test;
using namespace nomad::client;
using namespace std::chrono_literals;
using schema::NodeStatus;

namespace {

struct NodeFixture : ServerFixture {
  NodeEndpoint endpoint = adopt(spawn_node_endpoint(system(), store, proposer, 3));
  HeartbeatTracker tracker = adopt(spawn_heartbeat_tracker(system(), store, endpoint, {}));
  std::string id = make_uuid(random);

  NodeFixture() {
    tell(endpoint, node_endpoint::UseTracker{tracker});
    tell(tracker, Lead{true});
  }

  Object<schema::Node> node(const char* secret = "secret") {
    Draft<schema::Node> draft;
    fill_node(*draft, id);
    draft->setSecretId(secret);
    draft->setComputedClass("");
    return draft.freeze();
  }

  Result<server_link::Registered> register_node(const char* secret = "secret") {
    const auto answer
        = ask<server_link::Registered>(endpoint, server_link::RegisterNode{node(secret)});
    commit();
    REQUIRE(answer->has_value());
    return **answer;
  }

  Result<server_link::Lease> beat() {
    const auto answer = ask<server_link::Lease>(endpoint, server_link::Heartbeat{id});
    commit();
    REQUIRE(answer->has_value());
    return **answer;
  }

  NodeStatus status() const { return state().node(id)->getStatus(); }

  Answer<server_link::AllocSet> watch(std::uint64_t min_index) {
    return ask<server_link::AllocSet>(endpoint, server_link::WatchAllocs{id, min_index, 300s});
  }

  Answer<server_link::Updated> report(const std::string& alloc, schema::ClientStatus status) {
    Draft<schema::Allocation> draft;
    draft->setId(text(alloc));
    draft->setNodeId(text(id));
    draft->setClientStatus(status);
    draft->setModifyTime(1);
    return ask<server_link::Updated>(endpoint, server_link::UpdateAllocs{id, {draft.freeze()}});
  }

  /// Puts an allocation of job "web" on the node, past the schedulers.
  std::string place(std::uint64_t number = 0) {
    const auto alloc_id = make_uuid(random);
    const auto job = state().job("default", "web");
    write([&](schema::Command::Builder command) {
      auto alloc = command.initPlanResults().initPlans(1)[0].initPlaced(1)[0];
      alloc.setId(text(alloc_id));
      alloc.setNamespace("default");
      alloc.setName(text("web.api[" + std::to_string(number) + "]"));
      alloc.setNodeId(text(id));
      alloc.setJobId("web");
      alloc.setJobVersion(job->getVersion());
      alloc.setJobCreateIndex(job->getCreateIndex());
      alloc.setTaskGroup("api");
    });
    return alloc_id;
  }
};

}  // namespace

TEST_CASE_FIXTURE(NodeFixture, "a new node is ready at once and has a class and a lease") {
  const auto registered = register_node();
  REQUIRE(registered.has_value());
  CHECK(registered->ttl >= 10s);
  CHECK(status() == NodeStatus::READY);
  CHECK(view(state().node(id)->getComputedClass()).starts_with("v1:"));
  CHECK(beat()->ttl >= 10s);
  CHECK_FALSE(beat()->was_missed);
}

TEST_CASE_FIXTURE(NodeFixture, "another secret is refused, an unknown node must register") {
  CHECK(beat().error().code == Errc::not_found);
  REQUIRE(register_node().has_value());
  CHECK(register_node("stolen").has_error());
  CHECK(view(state().node(id)->getSecretId()) == "secret");
}

TEST_CASE_FIXTURE(NodeFixture, "a silent node goes down, and comes back by its next heartbeat") {
  REQUIRE(register_node().has_value());
  advance(9s);
  commit();
  CHECK(status() == NodeStatus::READY);
  advance(60s);
  commit();
  CHECK(status() == NodeStatus::DOWN);
  const auto lease = beat();
  REQUIRE(lease.has_value());
  CHECK(lease->was_missed);
  CHECK(status() == NodeStatus::READY);
}

TEST_CASE_FIXTURE(NodeFixture, "a node that missed heartbeats reports before it is ready") {
  register_job(make_job("web", 1));
  REQUIRE(register_node().has_value());
  const auto alloc = place();
  advance(60s);
  commit();
  CHECK(status() == NodeStatus::DOWN);
  auto refused = report(alloc, schema::ClientStatus::RUNNING);
  REQUIRE(refused->has_value());
  CHECK((*refused)->has_error());
  REQUIRE(beat().has_value());
  CHECK(status() == NodeStatus::INITIALIZING);
  REQUIRE(beat().has_value());
  CHECK(status() == NodeStatus::INITIALIZING);
  report(alloc, schema::ClientStatus::RUNNING);
  commit();
  REQUIRE(beat().has_value());
  CHECK(status() == NodeStatus::READY);
}

TEST_CASE_FIXTURE(NodeFixture, "a ready node that learns a driver has its jobs evaluated") {
  Draft<schema::Job> agent{make_job("agent", 1)};
  agent->setType("system");
  register_job(agent.freeze());
  REQUIRE(register_node().has_value());
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
  ask<server_link::Registered>(endpoint, server_link::RegisterNode{changed.freeze()});
  commit();
  CHECK(count() == before + 1);
}

TEST_CASE_FIXTURE(NodeFixture, "a watch is answered by what is new for the node") {
  register_job(make_job("web", 3));
  REQUIRE(register_node().has_value());
  const auto first = place(0);
  const auto all = watch(0);
  REQUIRE(all->has_value());
  CHECK((**all)->complete);
  REQUIRE((**all)->allocs.size() == 1);
  CHECK((**all)->allocs[0].job);
  const auto waiting = watch((**all)->index);
  CHECK_FALSE(waiting->has_value());
  report(first, schema::ClientStatus::RUNNING);  // its own word is no news
  commit();
  CHECK_FALSE(waiting->has_value());
  const auto second = place(1);
  REQUIRE(waiting->has_value());
  REQUIRE((**waiting)->allocs.size() == 1);
  CHECK(view((**waiting)->allocs[0].alloc->getId()) == second);
  const auto later = watch((**waiting)->index);
  advance(300s);
  REQUIRE(later->has_value());
  CHECK((**later)->allocs.empty());
}

TEST_CASE_FIXTURE(NodeFixture, "collected allocations make the next answer complete") {
  register_job(make_job("web", 2));
  REQUIRE(register_node().has_value());
  const auto gone = place(0);
  place(1);
  const auto all = watch(0);
  REQUIRE((**all)->allocs.size() == 2);
  const auto waiting = watch((**all)->index);
  write([&](schema::Command::Builder command) {
    command.initReap().initAllocationIds(1).set(0, text(gone));
  });
  REQUIRE(waiting->has_value());
  CHECK((**waiting)->complete);
  CHECK((**waiting)->allocs.size() == 1);
}

TEST_CASE_FIXTURE(NodeFixture, "reports: the first at once, those that come meanwhile together") {
  register_job(make_job("web", 3));
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
  CHECK(state().alloc(third)->alloc->getClientStatus() == schema::ClientStatus::FAILED);
  bool evaluated = false;
  const auto snapshot = state();
  for (const auto& entry : snapshot.evals_by_job("default", "web"))
    evaluated = evaluated || entry.value()->getTriggeredBy() == schema::EvalTrigger::ALLOC_FAILURE;
  CHECK(evaluated);
}
