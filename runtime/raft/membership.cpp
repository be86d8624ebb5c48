// Membership and handing over: one change at a time, in force from the moment it is in the log.
#include <algorithm>

#include "runtime/raft/core.hpp"

namespace nomad::raft {

Result<> Core::may_propose() const {
  if (role_ != Role::leader) return Error{Errc::no_leader, "node is not the leader"};
  if (!transfer_target_.empty()) return Error{Errc::no_leader, "leadership transfer in progress"};
  return {};
}

void Core::on(ProposeChange& input) {
  const auto& change = input.change;
  auto refuse = [this](Error reason) { out_.proposed = std::move(reason); };
  if (auto allowed = may_propose(); !allowed) return refuse(allowed.error());
  if (commit_index_ < barrier_index_)
    return refuse({Errc::unavailable, "the new leader is not ready for membership changes yet"});
  if (configs_.latest_index() > commit_index_)
    return refuse({Errc::conflict, "another membership change is under way"});
  if (change.action == MemberAction::promote) {
    const auto* learner = progress(change.id);
    if (learner != nullptr && learner->match_index + options_.promote_lag < log_.last_index())
      return refuse({Errc::conflict, "server \"" + change.id + "\" has not caught up yet"});
  }
  auto next = changed(configuration(), change);
  if (!next) return refuse(next.error());
  if (leads_alone()) confirmed_since_ = now_;  // nobody had to be asked until now
  out_.proposed = log_.last_index() + 1;
  append({.index = log_.last_index() + 1,
          .term = current_term(),
          .kind = EntryKind::configuration,
          .payload = encode(*next)});
  replicate_to_all();
}

void Core::on(Bootstrap& input) {
  const auto refuse = [this](Errc code, const char* why) { out_.proposed = Error{code, why}; };
  if (log_.last_index() != 0 || snapshot_ || arriving_ || !configuration().members.empty())
    return refuse(Errc::conflict, "this server has a log: it belongs to a cluster already");
  if (!joining_cluster_id_.empty())
    return refuse(Errc::conflict, "the leader of a cluster has spoken to this server");
  if (!input.configuration.is_voter(options_.self) || input.configuration.cluster_id.empty())
    return refuse(Errc::invalid_argument, "the first server of a cluster is one of its voters");
  out_.proposed = Index{1};
  set_hard_state(std::max<Term>(current_term(), 1), hard_state_.voted_for);
  append({.index = 1,
          .term = 1,
          .kind = EntryKind::configuration,
          .payload = encode(input.configuration)});
  election_deadline_ = now_;
}

/// The leader follows exactly the other members of the newest configuration.
void Core::adopt_configuration() {
  if (role_ != Role::leader) return;
  std::erase_if(progress_,
                [this](const auto& item) { return configuration().find(item.first) == nullptr; });
  for (const auto& member : configuration().members) {
    if (member.id == options_.self) continue;
    const auto [at, is_new] = progress_.try_emplace(member.id);
    if (!is_new) continue;
    at->second.next_index = log_.last_index() + 1;
    at->second.heard = now_;
  }
}

void Core::after_commit_of_configuration() {
  if (configuration().is_voter(options_.self)) {
    // Fewer voters may be a quorum already.
    return advance_commit();
  }
  out_.notices.push_back("stepping down: this server is no voter any more");
  for (const auto& [peer, progress] : progress_)  // so that they learn of it without delay
    send(peer,
         Heartbeat{.commit_index = std::min(commit_index_, progress.match_index), .round = round_});
  const auto next = most_advanced_voter();
  if (!next.empty()) send(next, TimeoutNow{});
  become_follower(current_term(), {});
}

/// Of the other voters; empty when there is none.
ServerId Core::most_advanced_voter() const {
  ServerId best;
  Index match = 0;
  for (const auto& [peer, progress] : progress_) {
    if (!configuration().is_voter(peer) || progress.match_index < match) continue;
    match = progress.match_index;
    best = peer;
  }
  return best;
}

void Core::on(TransferTo& input) {
  if (auto allowed = may_propose(); !allowed) {
    out_.proposed = allowed.error();
    return;
  }
  const auto target = input.target.empty() ? most_advanced_voter() : input.target;
  if (target == options_.self || !configuration().is_voter(target)) {
    out_.proposed = Error{Errc::invalid_argument, "cannot find a voter to take over"};
    return;
  }
  out_.proposed = log_.last_index();
  transfer_target_ = target;
  transfer_deadline_ = now_ + options_.election_timeout;
  continue_transfer();
}

/// Hands over as soon as the target has everything; no proposal is accepted meanwhile.
void Core::continue_transfer() {
  if (transfer_target_.empty() || handed_over_) return;
  const auto* target = progress(transfer_target_);
  if (target == nullptr) return abort_transfer();
  if (target->match_index < log_.last_index()) return replicate_to(transfer_target_);
  handed_over_ = true;  // (6)
  send(transfer_target_, TimeoutNow{});
}

/// It did not take over in time: we go on. If it was told already it may still stand for the next
/// term, so that there is no lease in this one: we have ourselves elected for that next term.
void Core::abort_transfer() {
  out_.notices.push_back("server \"" + transfer_target_ + "\" did not take over in time");
  transfer_target_.clear();
  if (!handed_over_) return;
  become_follower(current_term(), {});
  campaign(false, true);
}

}  // namespace nomad::raft
