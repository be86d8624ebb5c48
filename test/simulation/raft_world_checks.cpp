// RaftWorld's rules; the numbers are those of the head of raft_world.hpp.
#include <algorithm>

#include <fmt/format.h>

#include "test/simulation/raft_world.hpp"

namespace nomad::test {

using namespace raft;
using namespace std::chrono_literals;

void RaftWorld::violated(const std::string& rule) {
  if (violation_) return;
  violation_ = fmt::format("at {:.6f} s: {}", std::chrono::duration<double>(now_).count(), rule);
}

void RaftWorld::check_step(Server& server, const Outputs& out) {
  const auto& core = *server.core;
  if (core.current_term() < server.last_term)  // (6)
    return violated(server.id + "'s term falls");
  if (core.commit_index() < server.last_commit)
    return violated(server.id + "'s commit index falls");
  const bool elected
      = core.role() == Role::leader
        && (server.last_role != Role::leader || core.current_term() != server.last_term);
  server.last_term = core.current_term();
  server.last_role = core.role();
  if (core.role() == Role::leader) {  // (1)
    const auto [known, is_new] = leaders_.try_emplace(core.current_term(), server.id);
    if (!is_new && known->second != server.id)
      return violated(fmt::format("{} and {} both lead term {}", known->second, server.id,
                                  core.current_term()));
  }
  if (elected) check_new_leader(server);
  if (core.commit_index() > server.last_commit) check_commit(server);
  for (const auto& message : out.messages)
    if (message.from != server.id) violated(server.id + " speaks for somebody else");
}

/// (2)
void RaftWorld::check_commit(Server& server) {
  const auto& log = server.core->log();
  if (server.core->role() == Role::leader) check_quorum_of_commit(server);
  for (auto index = server.last_commit + 1; index <= server.core->commit_index(); ++index) {
    if (index >= committed_.size()) committed_.resize(index + 1);
    const auto term = log.term_at(index);
    if (!term) continue;  // it came in a snapshot, whose state is compared
    auto& known = committed_[index];
    if (known.term == 0) known = {.term = *term, .decided_in = server.core->current_term()};
    if (known.term != *term)
      return violated(fmt::format("{} commits index {} in term {}, it was committed in term {}",
                                  server.id, index, *term, known.term));
  }
  server.last_commit = server.core->commit_index();
}

/// (2) (3): a leader commits an entry of its own term that most voters have on their disks.
void RaftWorld::check_quorum_of_commit(Server& server) {
  const auto index = server.core->commit_index();
  const auto term = server.core->current_term();
  if (server.core->log().term_at(index) != term)
    return violated(server.id + " commits entries of an earlier term by counting replicas");
  std::size_t holders = 0;
  for (const auto& member : server.core->configuration().members) {
    auto* other = find(member.id);
    if (member.voter && other != nullptr && is_durable(*other, index, term)) ++holders;
  }
  if (holders <= server.core->configuration().voter_count() / 2)
    violated(
        fmt::format("{} commits index {}, which only {} voters hold", server.id, index, holders));
}

/// (2)
void RaftWorld::check_new_leader(Server& server) {
  if (++counts_.leaders > 1 && options_.leader_stays)  // (9)
    return violated(server.id + " is elected though servers only stalled");
  const auto& log = server.core->log();
  for (auto index = log.base_index() + 1; index < committed_.size(); ++index) {
    const auto& known = committed_[index];
    // A late leader of an old term is harmless, and need not have what later ones committed.
    if (known.term == 0 || known.decided_in >= server.core->current_term()) continue;
    if (log.term_at(index) != known.term)
      return violated(fmt::format("{} leads term {} without the committed entry {} of term {}",
                                  server.id, server.core->current_term(), index, known.term));
  }
}

bool RaftWorld::is_durable(Server& server, Index index, Term term) const {
  const auto& disk = server.disk;
  if (disk.snapshot && index <= disk.snapshot->meta.index) return true;
  if (index <= disk.base) return true;
  const auto offset = index - disk.base - 1;
  return offset < disk.log.size() && disk.log[offset].term == term;
}

/// (1) (3)
void RaftWorld::check_sent(Server& server, const Message& message) {
  if (message.term < server.core->current_term())
    return violated(server.id + " speaks in a term that it has left");
  if (const auto* vote = std::get_if<VoteReply>(&message.body);
      vote != nullptr && vote->granted && !vote->pre_vote) {
    const auto [known, is_new] = votes_.try_emplace({server.id, message.term}, message.to);
    if (!is_new && known->second != message.to)
      return violated(fmt::format("{} votes for {} and {} in term {}", server.id, known->second,
                                  message.to, message.term));
    const auto& stored = server.disk.hard_state;
    const bool kept = stored.current_term > message.term
                      || (stored.current_term == message.term && stored.voted_for == message.to);
    if (!kept) return violated(server.id + " answers for a vote that is not durable");
  }
  check_candidate(server, message);
  const auto* reply = std::get_if<AppendReply>(&message.body);
  if (reply == nullptr || !reply->accepted || message.term != server.core->current_term()) return;
  const auto term = server.core->log().term_at(reply->match_index);
  if (term && !is_durable(server, reply->match_index, *term))
    violated(fmt::format("{} acknowledges entry {}, which is not durable", server.id,
                         reply->match_index));
}

/// (8)
void RaftWorld::check_candidate(const Server& server, const Message& message) {
  const auto* request = std::get_if<VoteRequest>(&message.body);
  if (request == nullptr || request->pre_vote || request->transfer) return;
  if (server.core->role() != Role::candidate) return;  // it waited for its disk, and is void by now
  const auto supporters = server.supporters.find(message.term);
  const auto votes = 1 + (supporters == server.supporters.end() ? 0 : supporters->second.size());
  if (votes <= server.core->configuration().voter_count() / 2)
    violated(fmt::format("{} stands for election in term {} with {} of {} pre-votes", server.id,
                         message.term, votes, server.core->configuration().voter_count()));
}

/// (5): who holds a lease has every write that was answered.
void RaftWorld::check_lease(Server& server) {
  if (!is_awake(server)) return;
  const auto& core = *server.core;
  ++counts_.lease_checks;
  const bool ready = core.barrier_index() != 0 && server.applied >= core.barrier_index();
  if (ready && core.lease_until() > local(server) && server.applied < answered_)
    violated(fmt::format("{} holds a lease of term {} without index {}, which was answered",
                         server.id, core.current_term(), answered_));
}

/// If two logs have the same term at an index, they are the same up to there.
void RaftWorld::check_logs_match() {
  for (auto& [left_id, left] : servers_)
    for (auto& [right_id, right] : servers_) {
      if (left_id >= right_id || !left->core || !right->core) continue;
      const auto& mine = left->core->log();
      const auto& theirs = right->core->log();
      bool same_above = false;
      const auto lowest = std::max(mine.base_index(), theirs.base_index());
      for (auto index = std::min(mine.last_index(), theirs.last_index()); index > lowest; --index) {
        const bool same = mine.term_at(index) == theirs.term_at(index);
        if (same_above && !same)
          return violated(fmt::format("the logs of {} and {} differ at {} below an equal entry",
                                      left_id, right_id, index));
        same_above = same_above || same;
      }
    }
}

/// Liveness: a leader within twenty seconds (servers that have stalled are patient), and it answers
/// a write.
bool RaftWorld::comes_to_rest() {
  run_until(now_ + 20s);
  if (violation_) return false;
  if (leader() == nullptr) {
    violated("no leader twenty seconds after everything was healed");
    return false;
  }
  const auto before = counts_.answered_writes;
  run_until(now_ + 10s);
  if (violation_) return false;
  if (counts_.answered_writes == before && options_.operations > 0) {
    violated("no write was answered within ten seconds of a healed cluster");
    return false;
  }
  options_.operations = 0;
  run_until(now_ + 20s);
  return !violation_;
}

/// (2) (4): everybody who is a member has everything.
void RaftWorld::check_agreement() {
  auto* boss = leader();
  if (boss == nullptr) return violated("the leader went away in a healed cluster");
  const auto last = boss->core->commit_index();
  if (last < answered_)
    return violated(
        fmt::format("index {} was answered, but only {} are committed", answered_, last));
  for (const auto& member : boss->core->configuration().members) {
    auto* server = find(member.id);
    if (server == nullptr || !server->core)
      return violated("member " + member.id + " is not running in a healed cluster");
    if (server->applied != last)
      return violated(fmt::format("{} has applied {} of {} entries in a healed cluster", member.id,
                                  server->applied, last));
    if (server->state != boss->state) return violated(member.id + " has another state");
  }
}

}  // namespace nomad::test
