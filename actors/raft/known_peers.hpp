// KnownPeers: the other servers that a node speaks with: members, and those that have spoken to it.
// Each that is written to has a RaftPeer, a child of the node. Part of the RaftNode; works in its
// turns.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/raft/node_parts.hpp"

namespace nomad::raft {

class KnownPeers {
public:
  /// Both outlive it.
  KnownPeers(NodeSelf::pointer self, const NodeParts& parts) : self_{self}, parts_{parts} {}

  KnownPeers(const KnownPeers&) = delete;
  KnownPeers& operator=(const KnownPeers&) = delete;

  /// Sends each server its messages: urgent ones at once, the others by its actor, since they are
  /// large. Servers without an address are left out.
  void post(std::vector<Message> messages, const Core& core);

  /// Remembers where the sender is, if the log does not say it. False: too many are known already,
  /// and the message is not to be heard.
  bool heard(const Incoming& incoming, const Configuration& members);

  /// Of a server that was written to; null otherwise.
  const PeerCounters* counters(const ServerId& id) const;

  void stop();

private:
  struct KnownPeer {
    RaftPeer actor;
    std::shared_ptr<const PeerLine> line;
    std::string address;
    std::shared_ptr<PeerCounters> counters;
    Time used{0};
  };

  const KnownPeer* peer_for(const ServerId& id, const Configuration& members);
  void move(KnownPeer& peer, const std::string& address);
  void follow(const Core& core);

  NodeSelf::pointer self_;
  const NodeParts& parts_;
  std::map<ServerId, KnownPeer> peers_;
  Index configuration_ = 0;  ///< Whose addresses `peers_` has.
};

}  // namespace nomad::raft
