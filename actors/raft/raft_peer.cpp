#include "actors/raft/raft_peer.hpp"

#include <utility>

#include "runtime/base/log.hpp"

namespace nomad::raft {
namespace {

/// What is under way to one server; outlives the peer as long as the carrier has something of it.
class Traffic {
public:
  Traffic(ServerId id, PeerListener listener, std::shared_ptr<PeerCounters> counters)
      : id_{std::move(id)}, listener_{std::move(listener)}, counters_{std::move(counters)} {}

  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  void leave(std::size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }

  void arrived(const Result<>& outcome, std::size_t bytes, Lane lane) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    if (outcome) {
      ++counters_->sent;
      if (!counters_->reachable.exchange(true))
        log::info("raft", "server {} can be reached again", id_);
      return;
    }
    ++counters_->lost;
    if (counters_->reachable.exchange(false))
      log::warn("raft", "server {} cannot be reached: {}", id_, outcome.error().what);
    if (lane != Lane::urgent) tell_unreachable();
  }

  /// It was not carried, for a reason that has nothing to do with the other server: there is too
  /// much under way already, or whoever carried it began anew.
  void drop(std::size_t bytes, Lane lane) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    ++counters_->lost;
    if (lane != Lane::urgent) tell_unreachable();
  }

private:
  void tell_unreachable() { actor::tell_urgent(listener_, PeerUnreachable{id_}); }

  const ServerId id_;
  const PeerListener listener_;
  const std::shared_ptr<PeerCounters> counters_;
  std::atomic<std::size_t> bytes_{0};
};

/// A message under way: takes part of the budget until its fate is told, or it is dropped untold.
class Freight {
public:
  Freight(std::shared_ptr<Traffic> traffic, std::size_t bytes, Lane lane)
      : traffic_{std::move(traffic)}, bytes_{bytes}, lane_{lane} {
    traffic_->leave(bytes_);
  }

  Freight(const Freight&) = delete;

  ~Freight() {
    if (traffic_) traffic_->drop(bytes_, lane_);
  }

  void arrived(const Result<>& outcome) {
    if (const auto traffic = std::exchange(traffic_, nullptr))
      traffic->arrived(outcome, bytes_, lane_);
  }

private:
  std::shared_ptr<Traffic> traffic_;
  const std::size_t bytes_;
  const Lane lane_;
};

/// The inside of one peer; lives in its behavior.
class Peer {
public:
  Peer(PeerOptions options,
       Carrier carrier,
       PeerListener listener,
       std::shared_ptr<PeerCounters> counters)
      : options_{std::move(options)},
        carrier_{std::move(carrier)},
        traffic_{std::make_shared<Traffic>(options_.id, std::move(listener), std::move(counters))} {
  }

  void move(std::string address) { options_.address = std::move(address); }

  void post(const std::vector<Message>& messages) {
    for (const auto& message : messages)
      post(message);
  }

private:
  void post(const Message& message) {
    const auto lane = lane_of(message);
    if (lane != Lane::urgent && traffic_->bytes() >= options_.max_under_way)
      return traffic_->drop(0, lane);
    auto bytes = write_wire(message, options_.own_address);
    auto freight = std::make_shared<Freight>(traffic_, bytes.size(), lane);
    carrier_({.to = options_.id,
              .address = options_.address,
              .lane = lane,
              .bytes = std::move(bytes),
              .done = [freight = std::move(freight)](const Result<>& outcome) {
                freight->arrived(outcome);
              }});
  }

  PeerOptions options_;
  Carrier carrier_;
  std::shared_ptr<Traffic> traffic_;
};

}  // namespace

RaftPeer::behavior_type raft_peer_actor(RaftPeer::stateful_pointer<RaftPeerState>,
                                        PeerOptions options,
                                        Carrier carrier,
                                        PeerListener listener,
                                        std::shared_ptr<PeerCounters> counters) {
  const auto peer = std::make_shared<Peer>(std::move(options), std::move(carrier),
                                           std::move(listener), std::move(counters));
  return {
      [peer](const raft_peer::Post& msg) { peer->post(msg.messages); },
      [peer](raft_peer::Move& msg) { peer->move(std::move(msg.address)); },
  };
}

}  // namespace nomad::raft
