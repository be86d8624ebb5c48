// A thousand simulated nodes against the servers' actors, in one process under a virtual clock: the
// real client code on one side, the real endpoint, tracker and state on the other.
#include <doctest/doctest.h>

#include "actors/nodesim/simulated_nodes.hpp"
#include "actors/server/nodes/heartbeat_tracker.hpp"
#include "actors/server/nodes/node_endpoint.hpp"
#include "test/unit/actors/server/server_fixture.hpp"

using namespace nomad;
using namespace std::chrono_literals;

namespace {

NodeDoor::behavior_type hand_on(NodeDoor::pointer self, const server::NodeSide& servers) {
  return {[self, servers](const door::Ask& msg) {
    return self->delegate(servers.door_of(door::info(msg).actor), msg);
  }};
}

/// Answers all that clients ask for as steps, at once: the farm's own runner has a thread.
struct Farm : test::ServerFixture {
  NodeDoor endpoint = adopt(server::spawn_node_endpoint(system(), store, proposer, nullptr, 11));
  server::HeartbeatTracker tracker = adopt(server::spawn_heartbeat_tracker(
      system(), store, proposer, {.leases = {}, .random_seed = 12}));
  NodeDoor servers = adopt(actor::spawn(system(), hand_on, server::NodeSide{tracker, endpoint}));
  client::ClientDb db = adopt(client::spawn_forgetful_client_db(system()));
  client::BlockingPool steps = adopt(client::spawn_inline_blocking_pool(system()));
  std::vector<client::Client> nodes;

  Farm() { tell(tracker, server::Lead{true}); }

  void start(const nodesim::SimulatedNodesOptions& options) {
    for (std::size_t i = 0; i < options.nodes; ++i)
      nodes.push_back(
          adopt(client::spawn_client(system(), nodesim::simulated_options(options, i),
                                     nodesim::simulated_parts(options, servers, db, steps))));
    commit();
  }

  void pass(std::chrono::nanoseconds time) {
    for (std::chrono::nanoseconds done{0}; done < time; done += 100ms) {
      advance(100ms);
      commit();
    }
  }

  std::size_t ready() const {
    std::size_t count = 0;
    for (const auto& entry : state().nodes())
      if (entry.value()->getStatus() == schema::NodeStatus::READY) ++count;
    return count;
  }

  /// Places one allocation of `job` on each node.
  void place(const std::string& job_id) {
    const auto job = make_job(job_id, static_cast<std::int64_t>(nodes.size()));
    register_job(job);
    const auto stored = state().job("default", job_id);
    std::vector<std::string> ids;
    for (const auto& entry : state().nodes())
      ids.emplace_back(entry.key());
    write([&](schema::Command::Builder command) {
      auto plan = command.initPlanResults().initPlans(1)[0];
      auto placed = plan.initPlaced(static_cast<unsigned>(ids.size()));
      for (unsigned i = 0; i < placed.size(); ++i) {
        placed[i].setId(text(make_uuid(random)));
        placed[i].setNamespace("default");
        placed[i].setJobId(text(job_id));
        placed[i].setJobVersion(stored->getVersion());
        placed[i].setJobCreateIndex(stored->getCreateIndex());
        placed[i].setTaskGroup("api");
        placed[i].setNodeId(text(ids[i]));
        placed[i].initAllocatedResources().initTasks(1)[0].setKey("server");
      }
      plan.initMetrics(1);
    });
  }

  std::size_t count(schema::ClientStatus status) const {
    std::size_t found = 0;
    for (const auto& entry : state().allocs())
      if (entry.value()->alloc->client_status() == status) ++found;
    return found;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Farm, "simulated nodes: a thousand nodes register, stay alive, run and end") {
  start({.nodes = 1'000, .plan = {.run_time = 40s, .fail_rate = 0.25}});
  pass(1s);
  CHECK(ready() == 1'000);

  place("web");
  pass(3s);
  CHECK(count(schema::ClientStatus::RUNNING) == 1'000);
  pass(60s);  // several leases later

  CHECK(ready() == 1'000);
  const auto failed = count(schema::ClientStatus::FAILED);
  CHECK(failed + count(schema::ClientStatus::COMPLETE) == 1'000);
  CHECK(failed > 150);
  CHECK(failed < 350);
}

TEST_CASE_FIXTURE(Farm, "simulated nodes: nodes that fall silent are given up") {
  start({.nodes = 20});
  pass(1s);
  REQUIRE(ready() == 20);

  for (std::size_t i = 0; i < 5; ++i)
    actor::kill(nodes[i]);
  pass(90s);

  CHECK(ready() == 15);
}

TEST_CASE_FIXTURE(Farm, "simulated nodes: two seeds make other nodes") {
  const auto first = nodesim::simulated_options({.seed = 1}, 0);
  const auto second = nodesim::simulated_options({.seed = 2}, 0);

  CHECK(first.seed != second.seed);
  CHECK(first.node_name == "sim-0001");
}
