#include "actors/raft/known_peers.hpp"

#include <utility>

#include "actors/core/supervise.hpp"

namespace nomad::raft {
namespace {

/// A server that is no member and was not spoken with for so long is forgotten.
constexpr auto keep_strangers = std::chrono::seconds{60};

/// A server that is no member is not heard while so many are known.
constexpr std::size_t max_peers = 64;

}  // namespace

void KnownPeers::post(std::vector<Message> messages, const Core& core) {
  if (!parts_.options.carrier) return;
  follow(core);
  std::map<std::pair<ServerId, Lane>, raft_peer::Post> posts;
  const auto known_commands = parts_.fsm->known_commands();
  for (auto& message : messages) {
    message.known_commands = known_commands;
    posts[{message.to, lane_of(message)}].messages.push_back(std::move(message));
  }
  for (auto& [to, post] : posts) {
    const auto* peer = peer_for(to.first, core.configuration());
    if (peer == nullptr) continue;
    if (to.second == Lane::urgent)
      for (const auto& message : post.messages)
        peer->line->post(message, peer->address);
    else
      self_->send(peer->actor, std::move(post));
  }
}

/// A server whose address is known; null otherwise.
const KnownPeers::KnownPeer* KnownPeers::peer_for(const ServerId& id,
                                                  const Configuration& members) {
  auto found = peers_.find(id);
  if (found == peers_.end()) {
    const auto* member = members.find(id);
    if (member == nullptr) return nullptr;
    found = peers_.emplace(id, KnownPeer{{}, nullptr, member->address, nullptr, {}}).first;
  }
  auto& peer = found->second;
  peer.used = parts_.clock();
  if (peer.actor) return &peer;
  peer.counters = std::make_shared<PeerCounters>();
  peer.line = std::make_shared<const PeerLine>(
      PeerOptions{.id = id, .own_address = parts_.options.address}, parts_.options.carrier,
      PeerListener{self_}, peer.counters);
  peer.actor = actor::spawn(self_, raft_peer_actor, peer.line, peer.address);
  return &peer;
}

void KnownPeers::move(KnownPeer& peer, const std::string& address) {
  if (peer.address == address) return;
  peer.address = address;
  if (peer.actor) self_->send(peer.actor, raft_peer::Move{address});
}

/// Follows changed members' addresses, and ends the actors of servers that are none any more.
void KnownPeers::follow(const Core& core) {
  if (core.configuration_index() == configuration_) return;
  const auto now = parts_.clock();
  bool strangers = false;
  for (auto at = peers_.begin(); at != peers_.end();) {
    auto& [id, peer] = *at;
    const auto* member = core.configuration().find(id);
    if (member == nullptr && now - peer.used > keep_strangers) {
      actor::stop(peer.actor);
      at = peers_.erase(at);
      continue;
    }
    strangers = strangers || member == nullptr;
    if (member != nullptr && !member->address.empty()) move(peer, member->address);
    ++at;
  }
  if (!strangers) configuration_ = core.configuration_index();
}

bool KnownPeers::heard(const Incoming& incoming, const Configuration& members) {
  const auto& from = incoming.message.from;
  const auto* member = members.find(from);
  if (from.empty() || incoming.from_address.empty()) return true;
  if (member != nullptr && !member->address.empty()) return true;
  // Not a member as far as this log goes: answers go where it says that it is.
  if (peers_.size() >= max_peers && !peers_.contains(from)) return false;
  auto& peer = peers_[from];
  peer.used = parts_.clock();
  move(peer, incoming.from_address);
  configuration_ = 0;
  return true;
}

const PeerCounters* KnownPeers::counters(const ServerId& id) const {
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second.counters.get();
}

void KnownPeers::stop() {
  for (const auto& [id, peer] : peers_)
    actor::stop(peer.actor);
  peers_.clear();
}

}  // namespace nomad::raft
