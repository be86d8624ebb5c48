// SimulatedNodes: many simulated client nodes in one process: the real client, its alloc_sync, its
// heartbeats and watches, with pretended machines and a factory of simulated runners. For capacity
// planning and benchmarks.
//
// What the nodes share: threads for steps (which only hand out the pretended facts), and a database
// that remembers nothing. Everything else each node has for itself, as a real one does.
//
// Used from one thread, which stops it before the actor system goes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/client/client.hpp"
#include "actors/nodesim/simulated_runner.hpp"

namespace nomad::nodesim {

struct SimulatedNodesOptions {
  std::size_t nodes = 1;
  std::string name_prefix = "sim";  ///< "sim-0001"
  std::string datacenter = "dc1";
  std::string region = "global";
  std::string node_class = {};
  std::string node_pool = "default";
  std::vector<std::string> drivers = {"docker", "exec", "java", "mock_driver", "qemu", "raw_exec"};
  std::uint64_t cpu_mhz = 4'000;  ///< Of each node.
  std::uint64_t memory_mb = 8'192;
  std::uint64_t disk_mb = 102'400;
  RunPlan plan = {};
  workload::SyncOptions sync = {};
  std::uint64_t seed = 1;  ///< Of the nodes' ids and of all chance.
};

/// The link to the servers for node `number`; all may share one.
using MakeLink = std::function<NodeDoor(std::size_t number)>;

class SimulatedNodes {
public:
  static SimulatedNodes start(const actor::Owner& owner,
                              SimulatedNodesOptions options,
                              MakeLink make_link);

  SimulatedNodes(SimulatedNodes&&) = default;
  SimulatedNodes& operator=(SimulatedNodes&&) = default;

  const std::vector<client::Client>& nodes() const { return nodes_; }

  /// Ends all nodes; what they pretended to run stays running for the servers.
  void stop();

private:
  SimulatedNodes() = default;

  std::vector<client::Client> nodes_;
  client::ClientDb db_;
  client::BlockingPool steps_;
};

/// The parts of one simulated node; `start` gives each the same database and steps.
client::ClientParts simulated_parts(const SimulatedNodesOptions& options,
                                    NodeDoor servers,
                                    client::ClientDb db,
                                    client::BlockingPool steps);

/// The options of node `number`.
client::ClientOptions simulated_options(const SimulatedNodesOptions& options, std::size_t number);

}  // namespace nomad::nodesim
