// Applier: applies to the Fsm what takes long, and reads the log's file, so that the raft_node goes
// on with heartbeats and votes meanwhile. What is quickly done the node applies itself, while
// nothing is under way here.
//
// Owns:   nothing; the Fsm's writing side is its own from a message to the answer.
// Takes:  Apply, Answered and Install from the node, in the order of the log; Read.
// Parent: raft_node, report: the node ends. Detached: a restore takes seconds.
// Ends:   by the parent's exit message.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/raft/fsm.hpp"

namespace nomad::raft {

namespace applier {

/// Entries `first`…`last` of the log's file, fewer when they exceed `max_bytes` but at least one.
/// `not_found`: it does not hold `first`.
struct Read {
  using is_message = void;
  Index first = 0;
  Index last = 0;
  std::size_t max_bytes = 0;
};

struct Entries {
  using is_message = void;
  std::vector<Entry> all;
};

struct Apply {
  using is_message = void;
  std::vector<Entry> commands;
  Index through = 0;
};

struct Outcomes {
  using is_message = void;
  std::vector<Outcome> all;
};

/// Everybody who waited for it has been told.
struct Answered {
  using is_message = void;
};

struct Install {
  using is_message = void;
  std::shared_ptr<PreparedState> state;
  Index index = 0;
};

struct Done {
  using is_message = void;
};

}  // namespace applier

using Applier = actor::Interface<applier::Entries(applier::Read),
                                 applier::Outcomes(applier::Apply),
                                 applier::Done(applier::Answered),
                                 applier::Done(applier::Install)>;

using ReadLog
    = std::function<Result<std::vector<Entry>>(Index first, Index last, std::size_t max_bytes)>;

/// With a thread of its own if `detached`.
Applier spawn_applier(const actor::Owner& owner,
                      std::shared_ptr<Fsm> fsm,
                      ReadLog read_log,
                      bool detached);

/// What the applier does for `Apply`, on the caller's thread.
std::vector<Outcome> apply_to(Fsm& fsm, const std::vector<Entry>& commands, Index through);

}  // namespace nomad::raft
