// ClusterWorld's servers come, leave and die for good; what becomes of the log's members is the
// business of their own membership and autopilot.
#include <algorithm>

#include <fmt/format.h>

#include "test/simulation/cluster_world.hpp"

namespace nomad::test {

using namespace raft;
using namespace std::chrono_literals;
using cluster::MemberStatus;
using server::membership::Done;
using server::membership::Leave;

namespace {

constexpr std::size_t fewest_servers = 3;
constexpr std::size_t most_servers = 5;

/// As an agent that leaves: so long it waits to be let go, and looks so often.
constexpr auto removal_patience = 5s;
constexpr auto removal_pause = 100ms;

/// Who has no time left is switched off.
constexpr auto last_words = 2s;

}  // namespace

bool ClusterWorld::is_gone(const std::string& id) const {
  return std::ranges::find(gone_, id) != gone_.end();
}

std::vector<std::string> ClusterWorld::addresses() {
  std::vector<std::string> all;
  for (const auto& [id, server] : servers_)
    if (!is_gone(id)) all.push_back(rpc_address_of(id));
  return all;
}

/// A server comes, or one goes for ever: never so many that the others lose their quorum.
void ClusterWorld::change_membership() {
  const auto staying = addresses().size();
  const auto luck = random_.below(10);
  if (staying < fewest_servers || (luck < 4 && staying < most_servers)) {
    ++counts_.arrivals;
    add_server(fmt::format("s{}", next_server_++), nullptr);
    return;
  }
  std::vector<SimServer*> voters;
  std::size_t gone = 0;
  for (const auto& member : configuration_.members) {
    if (!member.voter) continue;
    if (is_gone(member.id))
      ++gone;
    else
      voters.push_back(find(member.id));
  }
  if (2 * (gone + 1) >= configuration_.voter_count()) return;
  auto& chosen = *voters[random_.below(voters.size())];
  if (!chosen.is_on()) return;
  gone_.push_back(chosen.id());
  if (luck < 7) {
    ++counts_.departures;
    leave(chosen);
  } else {
    ++counts_.deaths;
    chosen.crash();
  }
}

/// As an agent that leaves for good.
void ClusterWorld::leave(SimServer& server) {
  server.ask<Transferred>(server.raft(), TransferLeadership{}, [](const Result<Transferred>&) {});
  go_on_leaving(server, system_.life(server.machine()), system_.now() + removal_patience);
}

void ClusterWorld::go_on_leaving(SimServer& server, std::uint64_t life, Time until) {
  if (system_.life(server.machine()) != life) return;  // it will not be back
  const bool is_out = server.is_told_removed() || configuration_.find(server.id()) == nullptr;
  if (!is_out && system_.now() < until) {
    server.ask<Done>(server.membership(), Leave{MemberStatus::leaving}, [](const Result<Done>&) {});
    return system_.at(system_.now() + removal_pause,
                      [this, &server, life, until] { go_on_leaving(server, life, until); });
  }
  server.ask<Done>(server.membership(), Leave{MemberStatus::left}, [](const Result<Done>&) {});
  system_.at(system_.now() + last_words, [this, &server, life] {
    if (system_.life(server.machine()) == life) server.crash();
  });
}

/// (11)
void ClusterWorld::look_at_members() {
  auto* boss = leader();
  if (boss == nullptr) return;
  boss->ask<RaftStatus>(boss->raft(), GetStatus{}, [this](const Result<RaftStatus>& status) {
    if (!status || status->role != Role::leader
        || status->configuration_index > status->commit_index)
      return;
    configuration_ = status->configuration;
    for (const auto& id : configuration_.removed)
      if (!is_gone(id))
        return violated(id + " was removed from the cluster, and neither left nor died");
  });
}

/// (12)
std::string ClusterWorld::account_for_members() const {
  for (const auto& member : configuration_.members) {
    if (is_gone(member.id)) return member.id + " is gone and still a member";
    if (!member.voter) return member.id + " is a member without a vote";
  }
  for (const auto& [id, server] : servers_)
    if (!is_gone(id) && configuration_.find(id) == nullptr) return id + " is no member";
  return {};
}

}  // namespace nomad::test
