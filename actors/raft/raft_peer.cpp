#include "actors/raft/raft_peer.hpp"

#include <unordered_map>

#include "runtime/base/log.hpp"

namespace nomad::raft {
namespace {

/// The inside of one peer; lives in its behavior.
class Peer {
public:
  Peer(RaftPeer::pointer self,
       PeerOptions options,
       Carrier carrier,
       PeerListener listener,
       std::shared_ptr<PeerCounters> counters)
      : self_{self},
        options_{std::move(options)},
        carrier_{std::move(carrier)},
        listener_{std::move(listener)},
        counters_{std::move(counters)} {}

  void move(std::string address) { options_.address = std::move(address); }

  void post(const std::vector<Message>& messages) {
    for (const auto& message : messages)
      post(message);
  }

  void carried(std::uint64_t number) {
    if (!forget(number)) return;
    ++counters_->sent;
    if (counters_->reachable.exchange(true)) return;
    log::info("raft", "server {} at {} can be reached again", options_.id, options_.address);
  }

  void lost(const carrier::Lost& msg) {
    const auto lane = forget(msg.number);
    if (!lane) return;
    ++counters_->lost;
    if (counters_->reachable.exchange(false))
      log::warn("raft", "server {} at {} cannot be reached: {}", options_.id, options_.address,
                msg.reason);
    if (*lane != Lane::urgent) tell_unreachable();
  }

private:
  struct UnderWay {
    Lane lane;
    std::size_t bytes;
  };

  void post(const Message& message) {
    const auto lane = lane_of(message);
    if (lane != Lane::urgent && bytes_under_way_ >= options_.max_under_way) {
      ++counters_->lost;
      return tell_unreachable();
    }
    auto letter = write_letter(message, options_.own_address);
    const auto number = ++last_number_;
    bytes_under_way_ += letter.size();
    under_way_.emplace(number, UnderWay{lane, letter.size()});
    carrier::Carry carry{.to = options_.id,
                         .address = options_.address,
                         .lane = lane,
                         .letter = std::move(letter),
                         .number = number,
                         .sender = carrier::Sender{self_}};
    if (lane == Lane::urgent)
      actor::send_urgent(self_, carrier_, std::move(carry));
    else
      self_->send(carrier_, std::move(carry));
  }

  /// The lane of a letter that is under way no more.
  std::optional<Lane> forget(std::uint64_t number) {
    const auto found = under_way_.extract(number);
    if (found.empty()) return std::nullopt;
    bytes_under_way_ -= found.mapped().bytes;
    return found.mapped().lane;
  }

  void tell_unreachable() { actor::send_urgent(self_, listener_, PeerUnreachable{options_.id}); }

  RaftPeer::pointer self_;
  PeerOptions options_;
  Carrier carrier_;
  PeerListener listener_;
  std::shared_ptr<PeerCounters> counters_;
  std::unordered_map<std::uint64_t, UnderWay> under_way_;
  std::size_t bytes_under_way_ = 0;
  std::uint64_t last_number_ = 0;
};

}  // namespace

RaftPeer::behavior_type raft_peer_actor(RaftPeer::pointer self,
                                        PeerOptions options,
                                        Carrier carrier,
                                        PeerListener listener,
                                        std::shared_ptr<PeerCounters> counters) {
  const auto peer = std::make_shared<Peer>(self, std::move(options), std::move(carrier),
                                           std::move(listener), std::move(counters));
  return {
      [peer](const raft_peer::Post& msg) { peer->post(msg.messages); },
      [peer](raft_peer::Move& msg) { peer->move(std::move(msg.address)); },
      [peer](carrier::Carried msg) { peer->carried(msg.number); },
      [peer](const carrier::Lost& msg) { peer->lost(msg); },
  };
}

}  // namespace nomad::raft
