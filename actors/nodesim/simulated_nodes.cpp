#include "actors/nodesim/simulated_nodes.hpp"

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "actors/nodesim/simulated_runner.hpp"

namespace nomad::nodesim {
namespace {

using namespace client;

/// A machine has figures; a pretended one answers zeros.
UsageReader::behavior_type silent_stats(UsageReader::pointer) {
  return {
      [](const usage::ReadHost&) { return client_api::HostUsage{}; },
      [](const usage::ReadTasks& msg) {
        usage::TaskUsages usages;
        usages.usages.resize(msg.tasks.size());
        return usages;
      },
      [](const usage::ForgetTask&) {},
  };
}

/// What a pretended machine is found to be.
host::NamedFingerprinter pretended_machine(const SimulatedNodesOptions& options) {
  return {.name = "simulated",
          .run = [options](const host::FingerprintOptions&, host::NodeFacts& facts) -> Result<> {
            facts.cpu_cores = 4;
            facts.cpu_total_compute = options.cpu_mhz;
            facts.memory_mb = options.memory_mb;
            facts.disk_mb = options.disk_mb;
            facts.attributes["kernel.name"] = "linux";
            facts.attributes["cpu.arch"] = "amd64";
            facts.attributes["nomad.version"] = "1.6.5";
            facts.attributes["unique.hostname"] = "simulated";
            for (const auto& driver : options.drivers)
              facts.attributes["driver." + driver] = "1";
            facts.networks.push_back({.mode = "host", .device = "sim0", .ip = "127.0.0.1"});
            facts.node_networks.push_back(
                {.mode = "host",
                 .device = "sim0",
                 .addresses = {{.family = "ipv4", .alias = "default", .address = "127.0.0.1"}}});
            return {};
          }};
}

}  // namespace

ClientOptions simulated_options(const SimulatedNodesOptions& options, std::size_t number) {
  ClientOptions node;
  node.node_name = fmt::format("{}-{:04}", options.name_prefix, number + 1);
  node.datacenter = options.datacenter;
  node.region = options.region;
  node.node_class = options.node_class;
  node.node_pool = options.node_pool;
  node.meta["simulated"] = "true";
  node.alloc_dir = "/";  // only ever asked how full its disk is
  node.sync = options.sync;
  node.seed = options.seed * 1'000'003 + number + 1;
  return node;
}

ClientParts simulated_parts(const SimulatedNodesOptions& options,
                            NodeDoor servers,
                            ClientDb db,
                            BlockingPool steps) {
  ClientParts parts;
  parts.servers = std::move(servers);
  parts.db = std::move(db);
  parts.steps = std::move(steps);
  parts.make_usage_reader = [](const actor::Owner& owner, const UsageReaderOptions&) {
    return actor::spawn(owner, silent_stats);
  };
  parts.make_runner = [plan = options.plan, servers = parts.servers, signer = IdentitySigner{}](
                          const actor::Owner& owner, const auto&, AllocSetup setup) mutable {
    if (!signer)
      signer
          = spawn_identity_signer(owner, {.node_id = setup.context->node_id, .servers = servers});
    return spawn_simulated_runner(owner, std::move(setup), plan, signer);
  };
  parts.check_alloc
      = [](const KnownDrivers&, AllocView, schema::Job::Reader) -> Result<> { return {}; };
  auto plugins = std::make_shared<PluginCatalog>();
  plugins->fingerprinters.push_back(pretended_machine(options));
  parts.plugins = std::move(plugins);
  return parts;
}

SimulatedNodes SimulatedNodes::start(const actor::Owner& owner,
                                     SimulatedNodesOptions options,
                                     MakeLink make_link) {
  SimulatedNodes farm;
  farm.db_ = spawn_forgetful_client_db(owner);
  farm.steps_ = spawn_blocking_pool(owner, {.slots = 1});
  farm.nodes_.reserve(options.nodes);
  for (std::size_t i = 0; i < options.nodes; ++i)
    farm.nodes_.push_back(
        spawn_client(owner, simulated_options(options, i),
                     simulated_parts(options, make_link(i), farm.db_, farm.steps_)));
  return farm;
}

void SimulatedNodes::stop() {
  for (const auto& node : nodes_)
    actor::stop(node);
  nodes_.clear();
  actor::stop(steps_);
  actor::stop(db_);
}

}  // namespace nomad::nodesim
