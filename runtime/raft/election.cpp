// Elections: pre-vote, vote, and what a new leader does first.
#include <algorithm>

#include "runtime/raft/core.hpp"
#include "runtime/raft/invariant.hpp"
#include "runtime/raft/quorum.hpp"

namespace nomad::raft {

void Core::campaign(bool pre_vote, bool transfer) {
  if (!is_promotable()) return;
  role_ = pre_vote ? Role::pre_candidate : Role::candidate;
  leader_.clear();
  votes_.clear();
  if (pre_vote || transfer) ++campaigns_;
  reset_election_deadline();
  if (pre_vote) {
    votes_[options_.self] = true;
  } else {
    set_hard_state(current_term() + 1, options_.self);
    own_vote_now_ = true;
  }
  const auto term = pre_vote ? current_term() + 1 : current_term();
  const VoteRequest request{.pre_vote = pre_vote,
                            .transfer = transfer,
                            .last_index = log_.last_index(),
                            .last_term = log_.last_term()};
  for (const auto& member : configuration().members) {
    if (!member.voter || member.id == options_.self) continue;
    if (pre_vote)
      out_.messages.push_back(envelope(member.id, term, request));
    else
      send_when_durable(member.id, term, request);
  }
}

void Core::count_votes_now() {
  const auto result = count_votes(configuration(), [this](const ServerId& id) {
    const auto cast = votes_.find(id);
    return cast == votes_.end() ? -1 : static_cast<int>(cast->second);
  });
  switch (result) {
    case VoteResult::pending:
      return;
    case VoteResult::lost:
      return become_follower(current_term(), {});
    case VoteResult::won:
      if (role_ == Role::pre_candidate) return campaign(false, false);
      return become_leader();
  }
}

void Core::become_leader() {
  require(role_ == Role::candidate, "only a candidate becomes the leader");
  role_ = Role::leader;
  leader_ = options_.self;
  campaigns_ = 0;
  handed_over_ = false;
  round_ = confirmed_round_ = 0;
  put_off_ = Time{0};
  confirmed_since_ = now_;  // from here the quorum is given one election timeout to answer
  rounds_.clear();
  progress_.clear();
  adopt_configuration();
  barrier_index_ = log_.last_index() + 1;
  append(
      {.index = barrier_index_, .term = current_term(), .kind = EntryKind::barrier, .payload = {}});
  start_round();
  replicate_to_all();
}

/// (5)
bool Core::leader_is_fresh() const {
  if (role_ == Role::leader) return true;  // it steps down by itself without a quorum
  return now_ - leader_contact_ < patience() + put_off_;  // (7)
}

void Core::receive(const Message& message, const VoteRequest& request) {
  const VoteReply no{.pre_vote = request.pre_vote, .granted = false};
  if (message.term < current_term()) return send(message.from, no);
  if (!request.transfer && leader_is_fresh()) {
    if (request.pre_vote) send(message.from, no);
    return;
  }
  const bool up_to_date = std::pair{request.last_term, request.last_index}
                          >= std::pair{log_.last_term(), log_.last_index()};
  if (request.pre_vote) {
    if (message.term == current_term() || !up_to_date) return send(message.from, no);
    out_.messages.push_back(
        envelope(message.from, message.term, VoteReply{.pre_vote = true, .granted = true}));
    return;
  }
  if (message.term > current_term()) become_follower(message.term, {});
  const auto& vote = hard_state_.voted_for;
  const bool is_free = vote.empty() ? leader_.empty() : vote == message.from;
  if (!up_to_date || !is_free) return send(message.from, no);
  if (vote.empty()) set_hard_state(current_term(), message.from);
  campaigns_ = 0;
  reset_election_deadline();
  send_when_durable(message.from, current_term(), VoteReply{.pre_vote = false, .granted = true});
}

void Core::receive(const Message& message, const VoteReply& reply) {
  if (reply.pre_vote && reply.granted) {
    if (role_ != Role::pre_candidate || message.term != current_term() + 1) return;
  } else {
    if (message.term > current_term()) return become_follower(message.term, {});
    const auto asking = reply.pre_vote ? Role::pre_candidate : Role::candidate;
    if (message.term < current_term() || role_ != asking) return;
  }
  votes_.emplace(message.from, reply.granted);
  count_votes_now();
}

void Core::receive(const Message& message, const TimeoutNow&) {
  if (role_ == Role::leader || message.from != leader_) return;
  campaign(false, true);
}

}  // namespace nomad::raft
