#include "test/simulation/cluster_world.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"
#include "runtime/raft/invariant.hpp"

namespace nomad::test {

using namespace raft;
using namespace std::chrono_literals;

ClusterWorld::ClusterWorld(ClusterWorldOptions options)
    : options_(options),
      system_(options.seed),
      network_(system_, options.seed ^ 0x6e65'7477'6f72'6b00),
      rpc_(system_, network_),
      random_(options.seed ^ 0x776f'726c'6400),
      operators_machine_(system_.add_machine("operators")) {
  witness_.violated = [this](const std::string& rule) { violated(rule); };
  failpoint::set_handler([this](std::string_view name) { return reach(name); });
  // Worlds run side by side, each in a thread of its own.
  log_listener_ = log::add_listener(
      log::Level::error, [this, mine = std::this_thread::get_id()](log::Level, const auto& line) {
        if (std::this_thread::get_id() == mine) note_log(line);
      });
  system_.switch_on(operators_machine_);
  network_.set_faults(options_.faults.network);
  Configuration founders{.cluster_id = "world", .members = {}, .removed = {}};
  for (int number = 0; number < options_.servers; ++number)
    founders.members.push_back({.id = fmt::format("s{}", number),
                                .address = rpc_address_of(fmt::format("s{}", number)),
                                .voter = true});
  next_server_ = options_.servers;
  for (const auto& member : founders.members)
    add_server(member.id, &founders);
  for (int number = 0; number < options_.nodes; ++number)
    add_node();
  system_.at(0ms, [this] { beat(); });
  start_operators();
}

ClusterWorld::~ClusterWorld() {
  violation_ = violation_.value_or("");  // nothing that happens from now on counts
  failpoint::set_handler({});
  system_.shut_down();
  rpc_.shut_down();
  log::remove_listener(log_listener_);
}

SimServer& ClusterWorld::add_server(const std::string& id, const Configuration* founders) {
  auto join = addresses();
  if (founders != nullptr)
    for (const auto& member : founders->members)
      join.push_back(member.address);
  auto made = std::make_unique<SimServer>(
      system_, network_, rpc_, witness_, counts_.disks,
      SimServerOptions{.id = id,
                       .join = std::move(join),
                       .clock_rate = 1 + 0.04 * (2 * random_.fraction() - 1),
                       .seed = random_.next()});
  auto& server = *(servers_[id] = std::move(made));
  server.find_server = [this](const std::string& other) { return find(other); };
  server.on_leadership
      = [this](SimServer& from, const LeadershipChanged& change) { note_leadership(from, change); };
  if (founders != nullptr) server.disk().found(*founders);
  server.start();
  return server;
}

void ClusterWorld::add_node() {
  auto& node = *nodes_.emplace_back(std::make_unique<SimNode>(
      system_, network_, rpc_, counts_.nodes, fmt::format("n{}", nodes_.size()), random_.next()));
  node.servers = [this] { return addresses(); };
  node.on_start = [this](SimNode& on, const SimProcess& process) { note_start(on, process); };
  node.violated = [this](const std::string& rule) { violated(rule); };
  node.identities().on_write = [this, &node](const auto& position, const auto& token) {
    note_identity(node, position, token);
  };
  node.start();
}

void ClusterWorld::violated(const std::string& rule) {
  if (violation_) return;
  violation_
      = fmt::format("at {:.6f} s: {}", std::chrono::duration<double>(system_.now()).count(), rule);
}

void ClusterWorld::run_until(Time end) {
  try {
    system_.run_until(end, [this] { return violation_.has_value(); });
  } catch (const InvariantViolated& err) {
    violated(err.what());
  }
}

void ClusterWorld::run(Time duration) {
  run_until(system_.now() + duration);
}

/// Code of some machine has come to a failpoint: the machine may die there.
Result<> ClusterWorld::reach(std::string_view name) {
  const auto machine = system_.running();
  auto found = counts_.failpoints.find(name);
  if (found == counts_.failpoints.end())
    found = counts_.failpoints.try_emplace(std::string{name}).first;
  ++found->second.first;
  if (!faulty_ || violation_ || !machine || !system_.is_on(*machine)) return {};
  if (options_.kills) return kill_at(name);
  // Those that are reached seldom are deadlier.
  const double rarity = found->second.first < 50 ? 100 : 1;
  if (!random_.chance(options_.faults.failpoints * rarity)) return {};
  ++found->second.second;
  ++counts_.failpoint_crashes;
  const auto off = network_.delay(10ms, 4s);
  for (auto& [id, server] : servers_)
    if (server->machine() == *machine) crash_server(*server, off);
  for (auto& node : nodes_)
    if (node->machine() == *machine) crash_node(*node, false, off);
  throw SimulatedCrash{};
}

void ClusterWorld::crash_server(SimServer& server, Time off) {
  server.crash();
  system_.at(system_.now() + off, [this, &server] {
    if (!server.is_on() && !is_gone(server.id())) server.start();
  });
}

void ClusterWorld::crash_node(SimNode& node, bool machine, Time off) {
  if (machine)
    node.crash_machine();
  else
    node.crash_agent();
  system_.at(system_.now() + off, [&node] {
    if (!node.is_on()) node.start();
  });
}

/// (1)
void ClusterWorld::note_leadership(SimServer& server, const LeadershipChanged& change) {
  if (!change.leads) return;
  const auto [known, is_new] = leaders_.try_emplace(change.term, server.id());
  if (is_new) ++counts_.leaders;
  if (known->second != server.id())
    violated(fmt::format("{} and {} both lead term {}", known->second, server.id(), change.term));
}

/// (4)
void ClusterWorld::note_start(SimNode& node, const SimProcess& process) {
  for (const auto& other : nodes_)
    for (const auto& running : other->processes())
      if (running.running && running.id == process.id)
        return violated(fmt::format("task {} of allocation {} starts on {} and runs on {}",
                                    process.id.task, process.id.alloc_id, node.name(),
                                    other->name()));
}

/// (9) Whoever dies with its machine is none of it.
void ClusterWorld::note_log(const std::string& line) {
  const auto machine = system_.running();
  if (!machine || !system_.is_on(*machine) || line.find("simulated") != std::string::npos) return;
  for (const char* end : {"ended by an exception", "ended by an unhandled error",
                          "unexpected message", "no std::exception"})
    if (line.find(end) != std::string::npos)
      return violated(fmt::format("on {}: {}", system_.name(*machine), line));
}

/// A server whose disk has failed is started again by whoever watches over it.
void ClusterWorld::restart_failed() {
  for (auto& [id, server] : servers_) {
    if (!server->is_on() || !server->failure()) continue;
    if (server->failure()->what.find("simulated") == std::string::npos)
      return violated(fmt::format("{} has stopped: {}", id, server->failure()->what));
    crash_server(*server, network_.delay(100ms, 3s));
  }
}

SimServer* ClusterWorld::find(const std::string& id) {
  const auto found = servers_.find(id);
  return found == servers_.end() ? nullptr : found->second.get();
}

SimServer* ClusterWorld::leader() {
  SimServer* newest = nullptr;
  for (auto* server : live_servers()) {
    const auto known = server->leader();
    if (known.leads && (newest == nullptr || known.term > newest->leader().term)) newest = server;
  }
  return newest;
}

std::vector<SimServer*> ClusterWorld::live_servers() {
  std::vector<SimServer*> live;
  for (auto& [id, server] : servers_)
    if (server->is_on()) live.push_back(server.get());
  return live;
}

ClusterWorldCounts ClusterWorld::counts() const {
  auto counts = counts_;
  counts.steps = system_.steps();
  counts.network = network_.counts();
  counts.rpc = rpc_.counts();
  counts.entries = witness_.last();
  counts.states_compared = witness_.states_compared();
  return counts;
}

std::vector<std::pair<const char*, std::uint64_t>> ClusterWorldCounts::all() const {
  return {{"steps of actors", steps},
          {"messages and calls", network.messages},
          {"lost messages", network.lost},
          {"duplicated messages", network.duplicated},
          {"slow messages, overtaken", network.delayed},
          {"partitions", partitions},
          {"one-way partitions", one_way_partitions},
          {"server crashes", server_crashes},
          {"agent crashes", agent_crashes},
          {"machine crashes", machine_crashes},
          {"crashes at failpoints", failpoint_crashes},
          {"failures of container engines", engine_failures},
          {"server pauses", server_pauses},
          {"node pauses", node_pauses},
          {"slow disks", slow_disks},
          {"failed disks", disks.failed},
          {"lost unsynced writes", disks.lost_writes},
          {"torn writes", disks.torn_writes},
          {"snapshots", disks.snapshots},
          {"installed snapshots", disks.installed_snapshots},
          {"refused snapshots", disks.refused_snapshots},
          {"clock jumps", clock_jumps},
          {"servers that came", arrivals},
          {"servers that left", departures},
          {"servers that died for good", deaths},
          {"leadership transfers", transfers},
          {"leaders", leaders},
          {"written variables", written_variables},
          {"removed variables", removed_variables},
          {"refused check-and-sets", refused_sets},
          {"writes refused as not done", refused_writes},
          {"complete drains", drained},
          {"preempted allocations", preempted},
          {"allocations replaced by updates", replaced},
          {"canaries", canaries},
          {"promoted deployments", promoted},
          {"dispatched jobs", dispatched},
          {"jobs without room at the end", waiting},
          {"rotations of root keys", rotations},
          {"kills at a place", kills},
          {"written identities", identities},
          {"renewed identities", renewed},
          {"verified identities", verified},
          {"log entries", entries},
          {"compared states", states_compared},
          {"started tasks", nodes.started},
          {"started containers", nodes.containers},
          {"ended tasks", nodes.ended},
          {"killed tasks", nodes.killed},
          {"tasks found again", nodes.attached},
          {"failed starts", nodes.failed_starts},
          {"lost saves of nodes", nodes.lost_saves},
          {"calls of other machines", rpc.calls},
          {"requests to the API passed on", rpc.passed_on},
          {"refused calls", rpc.refused},
          {"calls whose fate is unknown", rpc.lost},
          {"writes by the HTTP API", by_api},
          {"operators' requests", called},
          {"answered", answered}};
}

std::optional<std::string> run_cluster_world(const ClusterWorldOptions& options,
                                             Time duration,
                                             ClusterWorldCounts* counts,
                                             std::uint64_t* trace) {
  ClusterWorld world{options};
  world.run(duration);
  world.heal_and_check();
  world.tell_story();
  if (counts != nullptr) *counts = world.counts();
  if (trace != nullptr) *trace = world.trace();
  return world.violation();
}

}  // namespace nomad::test
