#include "actors/raft/raft_peer.hpp"

#include <utility>

#include "runtime/base/log.hpp"

namespace nomad::raft {

/// What is under way to one server; outlives the peer as long as the carrier has something of it.
class PeerLine::Traffic {
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
        log::info("raft", "a server can be reached again", {{"peer", id_}});
      return;
    }
    ++counters_->lost;
    if (counters_->reachable.exchange(false))
      log::warn("raft", "a server cannot be reached", {{"peer", id_}, {"error", outcome.error()}});
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
class PeerLine::InFlight {
public:
  InFlight(std::shared_ptr<Traffic> traffic, std::size_t bytes, Lane lane)
      : traffic_{std::move(traffic)}, bytes_{bytes}, lane_{lane} {
    traffic_->leave(bytes_);
  }

  InFlight(const InFlight&) = delete;

  ~InFlight() {
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

PeerLine::PeerLine(PeerOptions options,
                   Carrier carrier,
                   PeerListener listener,
                   std::shared_ptr<PeerCounters> counters)
    : options_{std::move(options)},
      carrier_{std::move(carrier)},
      traffic_{std::make_shared<Traffic>(options_.id, std::move(listener), std::move(counters))} {}

void PeerLine::post(const Message& message, const std::string& address) const {
  const auto lane = lane_of(message);
  if (lane != Lane::urgent && traffic_->bytes() >= options_.max_under_way)
    return traffic_->drop(0, lane);
  auto bytes = write_wire(message, options_.own_address);
  auto in_flight = std::make_shared<InFlight>(traffic_, bytes.size(), lane);
  carrier_({.to = options_.id,
            .address = address,
            .lane = lane,
            .bytes = std::move(bytes),
            .done = [in_flight = std::move(in_flight)](const Result<>& outcome) {
              in_flight->arrived(outcome);
            }});
}

RaftPeer::behavior_type raft_peer_actor(RaftPeer::stateful_pointer<RaftPeerState>,
                                        std::shared_ptr<const PeerLine> line,
                                        std::string address) {
  const auto to = std::make_shared<std::string>(std::move(address));
  return {
      [line, to](const raft_peer::Post& msg) {
        for (const auto& message : msg.messages)
          line->post(message, *to);
      },
      [to](raft_peer::Move& msg) { *to = std::move(msg.address); },
  };
}

}  // namespace nomad::raft
