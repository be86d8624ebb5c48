// RaftPeer: takes entries and parts of snapshots to one other server, beside the node.
//
// PeerLine: the way there. It gives the core's messages their form on the wire, hands them to the
// carrier within a budget, and tells the node when the other server is out of reach.
//
// Owns:   nothing; it shares its line with the node, which sends what is urgent itself.
// Takes:  Post and Move from the node. Tells its listener PeerUnreachable when entries or a part of
//         a snapshot were lost or not let out.
// Parent: raft_node, report: the node ends. One for each server that it speaks with.
// Ends:   by the parent's exit message.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/core/supervise.hpp"
#include "actors/raft/carrier.hpp"
#include "runtime/raft/messages.hpp"

namespace nomad::raft {

namespace raft_peer {

/// Messages for this server, of one lane.
struct Post {
  using is_message = void;
  std::vector<Message> messages;
};

/// The server has another address from now on.
struct Move {
  using is_message = void;
  std::string address;
};

}  // namespace raft_peer

/// A server could not be reached.
struct PeerUnreachable {
  using is_message = void;
  ServerId peer;
};

using PeerListener = actor::Interface<void(PeerUnreachable)>;

using RaftPeer = actor::Interface<void(raft_peer::Post), void(raft_peer::Move)>;

/// Written and read by any thread.
struct PeerCounters {
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> lost{0};
  std::atomic<bool> reachable{true};
};

struct PeerOptions {
  ServerId id;
  std::string own_address;  ///< Told to the other server with each message.

  /// What may be under way before entries and parts of snapshots are dropped instead. Above the
  /// core's own window, so that it only bounds what a broken connection leaves behind.
  std::size_t max_under_way = std::size_t{48} << 20;
};

/// Any thread may post; what one thread posts stays in order within its lane.
class PeerLine {
public:
  PeerLine(PeerOptions options,
           Carrier carrier,
           PeerListener listener,
           std::shared_ptr<PeerCounters> counters);

  void post(const Message& message, const std::string& address) const;

private:
  class Traffic;
  class InFlight;

  const PeerOptions options_;
  const Carrier carrier_;
  const std::shared_ptr<Traffic> traffic_;
};

struct RaftPeerState {
  static constexpr const char* name = "raft_peer";
};

/// The behavior; the node spawns it as a child.
RaftPeer::behavior_type raft_peer_actor(RaftPeer::stateful_pointer<RaftPeerState> self,
                                        std::shared_ptr<const PeerLine> line,
                                        std::string address);

}  // namespace nomad::raft
