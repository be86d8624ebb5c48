// LeadershipChanges: tells the rest of the server whether it leads, and who does: by the lease, the
// view and the listener of NodeParts. Part of the RaftNode; works in its turns.
#pragma once

#include <optional>

#include "actors/raft/node_parts.hpp"

namespace nomad::raft {

class LeadershipChanges {
public:
  /// `parts` outlives it.
  LeadershipChanges(NodeSelf::pointer self, const NodeParts& parts) : self_{self}, parts_{parts} {}

  LeadershipChanges(const LeadershipChanges&) = delete;
  LeadershipChanges& operator=(const LeadershipChanges&) = delete;

  /// The lease holds as long as the core's, once its barrier is among what is applied.
  void publish_lease(const Core& core, Index applied);

  /// The lease, how old this server's state may be, and to the listener what has changed.
  void publish(const Core& core, Index applied);

  /// This server does not lead any more.
  void end_lease() { parts_.lease->set(0); }

  /// Nor does it know who does.
  void stop();

private:
  NodeSelf::pointer self_;
  const NodeParts& parts_;
  std::optional<LeadershipChanged> told_;
  LeaderView::Waits waits_;
};

}  // namespace nomad::raft
