#include "runtime/cluster/members/autopilot.hpp"

#include <algorithm>

namespace nomad::cluster {
namespace {

using raft::MemberAction;
using raft::MemberChange;

const MemberInfo* find(const std::vector<MemberInfo>& servers, const std::string& id) {
  const auto found = std::ranges::find(servers, id, &MemberInfo::id);
  return found == servers.end() ? nullptr : &*found;
}

bool is_gone(const MemberInfo* server) {
  return server != nullptr && server->status != MemberStatus::alive
         && server->status != MemberStatus::leaving;
}

/// It said so itself (or an operator did), and wants no second thoughts.
bool leaves(const MemberInfo* server) {
  return server != nullptr
         && (server->status == MemberStatus::left || server->status == MemberStatus::leaving);
}

/// A new server, or one that has moved.
std::optional<MemberChange> choose_arrival(const raft::Configuration& configuration,
                                           const std::vector<MemberInfo>& servers) {
  for (const auto& server : servers) {
    if (server.status != MemberStatus::alive) continue;
    if (!server.cluster_id.empty() && server.cluster_id != configuration.cluster_id) continue;
    if (std::ranges::find(configuration.removed, server.id) != configuration.removed.end())
      continue;
    const auto* member = configuration.find(server.id);
    if (member != nullptr) {
      if (member->address == server.rpc_address) continue;
      return MemberChange{MemberAction::move, server.id, server.rpc_address};
    }
    const auto holder
        = std::ranges::find(configuration.members, server.rpc_address, &raft::Member::address);
    if (holder == configuration.members.end())
      return MemberChange{MemberAction::add_learner, server.id, server.rpc_address};
    // Its place is taken by a server that was there before, under another id.
    const auto* old = find(servers, holder->id);
    if (old == nullptr || is_gone(old) || old->rpc_address == server.rpc_address)
      return MemberChange{MemberAction::remove, holder->id, {}};
  }
  return std::nullopt;
}

}  // namespace

void Autopilot::observe(const LogStatus& log,
                        const std::vector<MemberInfo>& members,
                        const std::string& region,
                        const AutopilotConfig& config,
                        Time now) {
  std::vector<MemberInfo> servers;
  for (const auto& member : members)
    if (member.region == region) servers.push_back(member);
  judge(log, servers, config, now);
  next_ = choose(log, servers, config, now);
}

void Autopilot::judge(const LogStatus& log,
                      const std::vector<MemberInfo>& servers,
                      const AutopilotConfig& config,
                      Time now) {
  ClusterHealth health;
  std::size_t healthy_voters = 0;
  std::map<std::string, Seen> seen;
  // Of a time when nobody looked it can't be told who took nothing.
  const bool watches = now - looked_at_ <= longest_blink;
  looked_at_ = now;
  for (const auto& member : log.configuration.members) {
    const auto* server = find(servers, member.id);
    const bool is_self = member.id == log.self;
    ServerHealth row{.id = member.id,
                     .name = server == nullptr ? "(unknown)" : server->name,
                     .address = member.address,
                     .version = server == nullptr ? "" : server->build,
                     .leader = is_self,
                     .voter = member.voter};
    if (server != nullptr) row.status = server->status;
    const auto peer = std::ranges::find(log.peers, member.id, &LogStatus::Peer::id);
    if (is_self || peer != log.peers.end()) {
      row.last_contact = is_self ? Time{0} : peer->silence;
      row.last_index = is_self ? log.last_index : peer->match_index;
      row.last_term = log.term;
    }
    const bool follows = row.last_contact < config.last_contact_threshold
                         && row.last_index + config.max_trailing_logs >= log.last_index;
    const auto before = seen_.find(member.id);
    auto& now_seen = seen[member.id];
    if (before != seen_.end()) now_seen = before->second;
    if (row.last_index >= log.last_index || row.last_index != now_seen.index || !watches)
      now_seen.at_index_since = now;
    now_seen.index = row.last_index;
    const bool takes_entries = now - now_seen.at_index_since < stuck_after;
    row.healthy = row.status == MemberStatus::alive
                  && (is_self || (row.last_term > 0 && follows && takes_entries));
    if (before == seen_.end()) now_seen.healthy = row.healthy, now_seen.since = now;
    if (now_seen.healthy != row.healthy) now_seen.healthy = row.healthy, now_seen.since = now;
    // Of one that the table does not know (yet), only the log can say that it is there.
    const bool heard = row.last_term > 0 && row.last_contact < config.last_contact_threshold;
    const bool dead = server == nullptr ? !is_self && !heard : is_gone(server) && !row.healthy;
    if (!dead)
      now_seen.dead_since = Time{0};
    else if (now_seen.dead_since == Time{0})
      now_seen.dead_since = now;
    row.stable_since = now_seen.since;
    if (row.voter && row.healthy) ++healthy_voters;
    health.servers.push_back(std::move(row));
  }
  const auto quorum = log.configuration.voter_count() / 2 + 1;
  health.failure_tolerance = healthy_voters > quorum ? healthy_voters - quorum : 0;
  health.healthy
      = !health.servers.empty() && std::ranges::all_of(health.servers, &ServerHealth::healthy);
  seen_ = std::move(seen);
  health_ = std::move(health);
}

std::optional<MemberChange> Autopilot::choose(const LogStatus& log,
                                              const std::vector<MemberInfo>& servers,
                                              const AutopilotConfig& config,
                                              Time now) const {
  if (auto change = choose_arrival(log.configuration, servers)) return change;
  if (auto change = choose_removal(log, servers, config, now)) return change;
  for (const auto& row : health_.servers) {
    const auto* server = find(servers, row.id);
    if (row.voter || !row.healthy || server == nullptr || server->non_voter) continue;
    if (now - row.stable_since < config.server_stabilization_time) continue;
    return MemberChange{MemberAction::promote, row.id, {}};
  }
  return std::nullopt;
}

/// (2)
std::optional<MemberChange> Autopilot::choose_removal(const LogStatus& log,
                                                      const std::vector<MemberInfo>& servers,
                                                      const AutopilotConfig& config,
                                                      Time now) const {
  const auto voters = log.configuration.voter_count();
  std::size_t dead = 0;
  std::optional<MemberChange> found;
  for (const auto& row : health_.servers) {
    if (row.id == log.self) continue;
    const auto* server = find(servers, row.id);
    const auto dead_since = seen_.at(row.id).dead_since;
    const bool dead_or_left = server == nullptr ? dead_since != Time{0} : is_gone(server);
    if (!dead_or_left && !leaves(server)) continue;
    if (row.voter && dead_or_left) ++dead;
    const bool may_go = !row.voter || (voters > 1 && voters - 1 >= config.min_quorum);
    const bool long_dead = config.cleanup_dead_servers && now - dead_since >= dead_after_;
    if (may_go && (leaves(server) || long_dead) && !found)
      found = MemberChange{MemberAction::remove, row.id, {}};
  }
  if (found && log.configuration.is_voter(found->id) && 2 * dead >= voters
      && !leaves(find(servers, found->id)))
    return std::nullopt;
  return found;
}

}  // namespace nomad::cluster
