// RaftWorld's clients, operators and faults.
#include <algorithm>

#include <fmt/format.h>

#include "test/simulation/raft_world.hpp"

namespace nomad::test {

using namespace raft;
using namespace std::chrono_literals;

namespace {

constexpr Time beat = 50ms;

}  // namespace

/// Everything that happens by chance is decided once a beat.
void RaftWorld::schedule_load() {
  at(now_ + beat, [this] {
    const double part = std::chrono::duration<double>(beat).count();
    const auto comes
        = [this, part](double per_second) { return random_.chance(per_second * part); };
    const auto& faults = options_.faults;
    if (faulty_) {
      if (comes(faults.partitions)) cut_network();
      if (comes(faults.crashes)) crash_somebody();
      if (comes(faults.pauses)) pause_somebody();
      if (faults.freezes > 0 && comes(faults.freezes)) freeze_all();
      if (comes(faults.slow_disks)) slow_a_disk();
      if (comes(faults.failing_disks)) fail_a_disk();
      if (comes(faults.membership_changes)) change_membership();
      if (comes(faults.transfers)) transfer_leadership();
    }
    if (comes(faults.snapshots)) snapshot_somebody();
    for (double left = options_.operations * part; left > 0; --left) {
      if (left < 1 && !random_.chance(left)) break;
      if (random_.chance(0.7))
        client_writes();
      else
        client_reads();
    }
    if (random_.chance(0.2)) check_logs_match();
    schedule_load();
  });
}

RaftWorld::Server* RaftWorld::somebody() {
  std::vector<Server*> awake;
  for (auto& [id, server] : servers_)
    if (is_awake(*server)) awake.push_back(server.get());
  return awake.empty() ? nullptr : awake[random_.below(awake.size())];
}

void RaftWorld::client_writes() {
  auto* server = leader();
  if (server == nullptr) return;
  ProposeCommands commands;
  std::vector<std::string> texts;
  for (auto left = 1 + random_.below(3); left > 0; --left) {
    texts.push_back(fmt::format("c{}{}", ++next_command_, std::string(random_.below(60), 'x')));
    commands.payloads.push_back(Bytes::copy(texts.back()));
  }
  counts_.writes += texts.size();
  ++counts_.steps;
  auto out = server->core->step(local(*server), std::move(commands));
  if (*out.proposed) {
    auto index = **out.proposed;
    for (auto& text : texts)
      server->proposals.push_back({index++, std::move(text)});
  }
  carry_out(*server, std::move(out));
}

void RaftWorld::client_reads() {
  auto* server = random_.chance(0.8) ? leader(true) : somebody();
  if (server == nullptr) return;
  const auto id = ++next_read_;
  server->reads[id] = {.at_least = answered_};
  const auto when = is_awake(*server) ? now_ : wake_time(*server);
  at(when, [this, server, id, life = server->life] {
    if (server->life != life || !is_awake(*server)) return;
    check_lease(*server);
    step(*server, RequestRead{id});
  });
}

void RaftWorld::cut_network() {
  ++counts_.partitions;
  std::vector<ServerId> ids;
  for (const auto& [id, server] : servers_)
    ids.push_back(id);
  std::set<ServerId> apart;
  for (const auto& id : ids)
    if (random_.chance(0.4)) apart.insert(id);
  const bool one_way = random_.chance(0.3);
  if (one_way) ++counts_.one_way_partitions;
  const bool any_links = random_.chance(0.3);  // not two sides, but links here and there
  std::vector<std::pair<ServerId, ServerId>> links;
  for (const auto& from : ids)
    for (const auto& to : ids) {
      if (any_links ? !random_.chance(0.4) : apart.contains(from) == apart.contains(to)) continue;
      if (one_way && apart.contains(from)) continue;
      links.emplace_back(from, to);
    }
  cut_.insert(links.begin(), links.end());
  at(now_ + delay(100ms, 8s), [this, links] {
    for (const auto& link : links)
      cut_.erase(link);
  });
}

void RaftWorld::crash_somebody() {
  auto* server = random_.chance(0.4) ? leader() : somebody();
  if (server == nullptr) return;
  crash(*server);
  if (server->removed && random_.chance(0.5)) return;
  at(now_ + delay(10ms, 5s), [this, server] { restart(*server); });
}

void RaftWorld::pause_somebody() {
  auto* server = random_.chance(0.5) ? leader() : somebody();
  if (server == nullptr || (options_.leader_stays && !has_caught_up(*server))) return;
  ++counts_.pauses;
  server->paused_until = now_ + (options_.leader_stays ? delay(50ms, 400ms) : delay(50ms, 5s));
}

/// It had its turn between two stalls: in a row they are one, of any length.
bool RaftWorld::has_caught_up(const Server& server) const {
  return now_ - server.paused_until > 2 * beat;
}

/// Within what an election is put off by: six election timeouts.
void RaftWorld::freeze_all() {
  for (auto& [id, server] : servers_)
    if (!has_caught_up(*server)) return;
  ++counts_.freezes;
  const auto until = now_ + delay(500ms, 3s);
  for (auto& [id, server] : servers_)
    server->paused_until = until;
}

void RaftWorld::slow_a_disk() {
  auto* server = somebody();
  if (server == nullptr) return;
  ++counts_.slow_disks;
  server->disk.slow_until = now_ + delay(100ms, 5s);
}

void RaftWorld::fail_a_disk() {
  if (auto* server = somebody(); server != nullptr) server->disk.fails = true;
}

void RaftWorld::change_membership() {
  auto* server = leader();
  if (server == nullptr) return;
  const auto& configuration = server->core->configuration();
  const auto& members = configuration.members;
  MemberChange change;
  const auto& chosen = members[random_.below(members.size())];
  const auto luck = random_.below(10);
  if (members.size() < 3 || (luck < 3 && members.size() < 6)) {
    change = {.action = MemberAction::add_learner,
              .id = fmt::format("s{}", next_server_),
              .address = fmt::format("host{}", next_server_)};
  } else if (!chosen.voter) {
    change = {.action = luck < 9 ? MemberAction::promote : MemberAction::remove,
              .id = chosen.id,
              .address = {}};
  } else if (configuration.voter_count() > 2) {
    change = {.action = luck < 7 ? MemberAction::remove : MemberAction::demote,
              .id = chosen.id,
              .address = {}};
  } else {
    return;
  }
  ++counts_.steps;
  auto out = server->core->step(local(*server), ProposeChange{change});
  const bool accepted = out.proposed->has_value();
  carry_out(*server, std::move(out));
  if (!accepted || violation_) return;
  ++counts_.membership_changes;
  if (change.action == MemberAction::add_learner) {
    ++next_server_;
    add_server(change.id, nullptr);
  }
}

void RaftWorld::transfer_leadership() {
  auto* server = leader();
  if (server == nullptr) return;
  ++counts_.transfers;
  step(*server, TransferTo{});
}

void RaftWorld::snapshot_somebody() {
  auto* server = somebody();
  if (server != nullptr) save_snapshot(*server);
}

}  // namespace nomad::test
