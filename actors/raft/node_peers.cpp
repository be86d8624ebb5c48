// NodeState's part about other servers: their actors, what comes from them, and what the leader
// knows of them.
#include <algorithm>

#include "actors/core/supervise.hpp"
#include "actors/raft/node_state.hpp"
#include "runtime/base/log.hpp"

namespace nomad::raft {
namespace {

/// A server that is no member and was not spoken with for so long is forgotten.
constexpr auto keep_strangers = std::chrono::seconds{60};

/// A server that is no member is not heard while so many are known.
constexpr std::size_t max_peers = 64;

}  // namespace

/// Sends each server its messages, urgent ones apart, so that they overtake what waits.
void NodeState::post(std::vector<Message> messages) {
  if (!parts_.options.carrier) return;
  forget_peers();
  std::map<std::pair<ServerId, Lane>, raft_peer::Post> posts;
  for (auto& message : messages)
    posts[{message.to, lane_of(message)}].messages.push_back(std::move(message));
  for (auto& [to, letters] : posts) {
    const auto* peer = peer_for(to.first);
    if (peer == nullptr) continue;
    if (to.second == Lane::urgent)
      actor::send_urgent(self_, *peer, std::move(letters));
    else
      self_->send(*peer, std::move(letters));
  }
}

/// The actor of a server whose address is known; null otherwise.
RaftPeer* NodeState::peer_for(const ServerId& id) {
  auto found = peers_.find(id);
  if (found == peers_.end()) {
    const auto* member = core_->configuration().find(id);
    if (member == nullptr) return nullptr;
    found = peers_.emplace(id, KnownPeer{{}, member->address, nullptr, {}}).first;
  }
  auto& peer = found->second;
  peer.used = parts_.clock();
  if (peer.actor) return &peer.actor;
  peer.counters = std::make_shared<PeerCounters>();
  peer.actor = actor::spawn_child(
      self_, raft_peer_actor,
      PeerOptions{.id = id, .address = peer.address, .own_address = parts_.options.address},
      parts_.options.carrier, PeerListener{NodeSelf{self_}}, peer.counters);
  return &peer.actor;
}

/// Follows changed members' addresses, and ends the actors of servers that are none any more.
void NodeState::forget_peers() {
  if (core_->configuration_index() == peers_configuration_) return;
  const auto now = parts_.clock();
  bool strangers = false;
  for (auto at = peers_.begin(); at != peers_.end();) {
    auto& [id, peer] = *at;
    const auto* member = core_->configuration().find(id);
    if (member == nullptr && now - peer.used > keep_strangers) {
      actor::stop(peer.actor);
      at = peers_.erase(at);
      continue;
    }
    strangers = strangers || member == nullptr;
    if (member != nullptr && !member->address.empty() && member->address != peer.address) {
      peer.address = member->address;
      if (peer.actor) self_->send(peer.actor, raft_peer::Move{peer.address});
    }
    ++at;
  }
  if (!strangers) peers_configuration_ = core_->configuration_index();
}

void NodeState::receive(Incoming incoming) {
  const auto& from = incoming.message.from;
  const auto* member = core_->configuration().find(from);
  if (!from.empty() && !incoming.from_address.empty()
      && (member == nullptr || member->address.empty())) {
    // Not a member as far as this log goes: answers go where it says that it is.
    if (peers_.size() >= max_peers && !peers_.contains(from)) return;
    auto& peer = peers_[from];
    peer.used = parts_.clock();
    if (peer.address != incoming.from_address) {
      peer.address = incoming.from_address;
      if (peer.actor) self_->send(peer.actor, raft_peer::Move{peer.address});
    }
    peers_configuration_ = 0;
  }
  step(Received{std::move(incoming.message)});
}

void NodeState::bootstrap(const Configuration& configuration, ProposalCallback callback) {
  auto out = core_->step(parts_.clock(), Bootstrap{configuration});
  if (!*out.proposed)
    callback(out.proposed->error());
  else
    await(**out.proposed, std::move(callback));
  carry_out(std::move(out));
  after_step();
}

void NodeState::retire() {
  const Error stopping{Errc::unavailable, "the server is stopping"};
  if (stopped_ || std::exchange(retiring_, true)) return;
  const bool others = core_->configuration().voter_count() > 1;
  if (core_->role() != Role::leader || !others || !parts_.options.carrier)
    return stop(stopping, false);
  if (core_->transfer_target().empty()) {
    auto out = core_->step(parts_.clock(), TransferTo{});
    if (!*out.proposed) return stop(stopping, false);
    carry_out(std::move(out));
  }
  after_step();
}

RaftStatus NodeState::status() const {
  const auto now = parts_.clock();
  RaftStatus status{.role = core_->role(),
                    .current_term = core_->current_term(),
                    .self = parts_.options.self,
                    .leader = core_->leader(),
                    .leader_address = {},
                    .commit_index = core_->commit_index(),
                    .applied_index = applied_,
                    .last_index = core_->log().last_index(),
                    .snapshot_index = snapshot_index_,
                    .last_term = core_->log().last_term(),
                    .configuration = core_->configuration(),
                    .configuration_index = core_->configuration_index(),
                    .peers = {},
                    .last_contact = core_->last_contact(now)};
  if (const auto* member = status.configuration.find(status.leader))
    status.leader_address = member->address;
  for (const auto& member : status.configuration.members) {
    const auto* progress = core_->progress(member.id);
    if (progress == nullptr) continue;
    PeerStatus peer{
        .id = member.id, .match_index = progress->match_index, .silence = now - progress->heard};
    const auto known = peers_.find(member.id);
    if (known != peers_.end() && known->second.counters) {
      peer.reachable = known->second.counters->reachable;
      peer.letters_sent = known->second.counters->sent;
      peer.letters_lost = known->second.counters->lost;
    }
    status.peers.push_back(std::move(peer));
  }
  return status;
}

}  // namespace nomad::raft
