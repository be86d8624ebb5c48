// PendingReads: who has asked a node for a read point: first the core grants it, then what was
// committed before is applied. Part of the RaftNode; works in its turns.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "actors/raft/node_parts.hpp"

namespace nomad::raft {

class PendingReads {
public:
  /// The core is asked by the returned id.
  std::uint64_t add(actor::Promise<ReadReady> promise);

  /// What the core grants and refuses.
  void carry_out(const Outputs& out);

  /// Answers those for whom enough is applied.
  void answer(Index applied);

  void fail(const Error& reason);

private:
  struct Granted {
    Index index;
    actor::Promise<ReadReady> promise;
  };

  std::uint64_t next_ = 1;
  std::map<std::uint64_t, actor::Promise<ReadReady>> asked_;
  std::deque<Granted> granted_;
};

}  // namespace nomad::raft
