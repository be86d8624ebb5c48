// ClusterWorld's faults: once a beat, chance decides what goes wrong.
#include <algorithm>

#include <fmt/format.h>

#include "test/simulation/cluster_world.hpp"

namespace nomad::test {

using namespace raft;
using namespace std::chrono_literals;

namespace {

constexpr Time beat_length = 50ms;

/// At the log's members.
constexpr std::uint64_t beats_per_look = 10;

/// At those of tasks: a signature takes long to verify.
constexpr std::uint64_t beats_per_look_at_identities = 20;

}  // namespace

bool ClusterWorld::comes(double per_second) {
  return random_.chance(per_second * std::chrono::duration<double>(beat_length).count());
}

void ClusterWorld::beat() {
  const auto& faults = options_.faults;
  restart_failed();
  if (faulty_) {
    if (comes(faults.partitions)) cut_network();
    if (comes(faults.server_crashes)) crash_a_server();
    if (comes(faults.agent_crashes)) crash_a_node(false);
    if (comes(faults.machine_crashes)) crash_a_node(true);
    if (comes(faults.engine_failures)) fail_an_engine();
    if (comes(faults.pauses)) pause_somebody();
    if (comes(faults.slow_disks)) slow_a_disk();
    if (comes(faults.failing_disks)) fail_a_disk();
    if (comes(faults.clock_jumps)) jump_a_clock();
    if (comes(faults.membership_changes)) change_membership();
    if (comes(faults.transfers)) transfer_leadership();
  }
  if (comes(faults.snapshots)) snapshot_somebody();
  if (++beats_ % beats_per_look == 0) look_at_members();
  if (random_.chance(0.05)) check_logs_match();
  if (beats_ % beats_per_look == 0) {
    check_placements();
    check_pace();
    note_failed_deployments();
    check_log();
  }
  if (beats_ % beats_per_look_at_identities == 0) check_identities();
  system_.at(system_.now() + beat_length, [this] { beat(); });
}

SimServer* ClusterWorld::some_server() {
  const auto live = live_servers();
  return live.empty() ? nullptr : live[random_.below(live.size())];
}

SimNode* ClusterWorld::some_node() {
  if (nodes_.empty()) return nullptr;
  auto* node = nodes_[random_.below(nodes_.size())].get();
  return node->is_on() ? node : nullptr;
}

void ClusterWorld::cut_network() {
  ++counts_.partitions;
  std::vector<Machine> all;
  for (const auto& [id, server] : servers_)
    all.push_back(server->machine());
  if (random_.chance(0.5))
    for (const auto& node : nodes_)
      all.push_back(node->machine());
  std::vector<Machine> apart;
  for (const auto machine : all)
    if (random_.chance(0.35)) apart.push_back(machine);
  const auto is_apart
      = [&](Machine machine) { return std::ranges::find(apart, machine) != apart.end(); };
  const bool one_way = random_.chance(0.3);
  if (one_way) ++counts_.one_way_partitions;
  const bool any_links = random_.chance(0.3);  // not two sides, but links here and there
  std::vector<std::pair<Machine, Machine>> links;
  for (const auto from : all)
    for (const auto to : all) {
      if (any_links ? !random_.chance(0.3) : is_apart(from) == is_apart(to)) continue;
      if (one_way && is_apart(from)) continue;
      links.emplace_back(from, to);
    }
  for (const auto& [from, to] : links)
    network_.cut(from, to);
  system_.at(system_.now() + network_.delay(100ms, 7s), [this, links] {
    for (const auto& [from, to] : links)
      network_.mend(from, to);
  });
}

void ClusterWorld::crash_a_server() {
  auto* server = random_.chance(0.5) ? leader() : some_server();
  if (server == nullptr) return;
  ++counts_.server_crashes;
  crash_server(*server, network_.delay(10ms, 4s));
}

void ClusterWorld::crash_a_node(bool machine) {
  auto* node = some_node();
  if (node == nullptr) return;
  ++(machine ? counts_.machine_crashes : counts_.agent_crashes);
  crash_node(*node, machine,
             random_.chance(0.2) ? network_.delay(4s, 12s) : network_.delay(10ms, 3s));
}

void ClusterWorld::fail_an_engine() {
  auto* node = some_node();
  if (node == nullptr) return;
  ++counts_.engine_failures;
  node->engine().fail();
}

void ClusterWorld::pause_somebody() {
  const auto until = system_.now() + network_.delay(50ms, 5s);
  if (random_.chance(0.6)) {
    auto* server = random_.chance(0.5) ? leader() : some_server();
    if (server == nullptr) return;
    ++counts_.server_pauses;
    system_.pause(server->machine(), until);
  } else if (auto* node = some_node(); node != nullptr) {
    ++counts_.node_pauses;
    system_.pause(node->machine(), until + network_.delay(0s, 6s));
  }
}

void ClusterWorld::slow_a_disk() {
  auto* server = some_server();
  if (server == nullptr) return;
  ++counts_.slow_disks;
  server->disk().slow_until(system_.now() + network_.delay(100ms, 4s));
}

void ClusterWorld::fail_a_disk() {
  if (auto* server = some_server(); server != nullptr) server->disk().fail();
}

void ClusterWorld::jump_a_clock() {
  std::vector<Machine> all;
  for (auto* server : live_servers())
    all.push_back(server->machine());
  for (const auto& node : nodes_)
    all.push_back(node->machine());
  ++counts_.clock_jumps;
  const auto far = random_.chance(0.3);
  const auto by = far ? network_.delay(-4min, 4min) : network_.delay(-10s, 10s);
  system_.jump_wall_clock(all[random_.below(all.size())], by);
}

void ClusterWorld::transfer_leadership() {
  auto* boss = leader();
  if (boss == nullptr) return;
  ++counts_.transfers;
  boss->ask<Transferred>(boss->raft(), TransferLeadership{}, [](const Result<Transferred>&) {});
}

void ClusterWorld::snapshot_somebody() {
  if (auto* server = some_server(); server != nullptr)
    server->ask<SnapshotTaken>(server->raft(), TakeSnapshot{}, [](const Result<SnapshotTaken>&) {});
}

}  // namespace nomad::test
