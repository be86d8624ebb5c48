// NodeParts: what a RaftNode is made of, and the messages between the node and its own parts. For
// `start_raft`, and for tests and simulations that put other things in; nobody else needs them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/raft/applier.hpp"
#include "actors/raft/log_writer.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/raft/snapshotter.hpp"
#include "runtime/raft/core.hpp"

namespace nomad::raft {

/// What the node works with, made by `start_raft` (or a test).
struct NodeParts {
  RaftOptions options;
  CoreOptions core_options;
  StartState start;
  std::uint64_t seed = 0;
  Index applied = 0;  ///< What `fsm` holds.
  std::shared_ptr<Fsm> fsm;

  ReadLog read_log;  ///< As `applier::Read` asks; on the applier's thread.
  std::string snapshot_directory;
  std::shared_ptr<ProposalQueue> queue;
  std::shared_ptr<LeaderLease> lease;
  std::shared_ptr<RaftCounters> counters;
  std::shared_ptr<LeaderView> leader = std::make_shared<LeaderView>();
  LeadershipListener listener;
  std::function<LogWriter(const actor::Owner&, LogWriterListener)> spawn_log_writer;
  std::function<Snapshotter(const actor::Owner&)> spawn_snapshotter;
  std::function<Time()> clock;
};

/// Messages that the node gets from itself and its children.
struct DrainProposals {
  using is_message = void;
};

/// `round` tells a timer that was overtaken.
struct TimeHasCome {
  using is_message = void;
  std::uint64_t round = 0;
};

struct ContinueApply {
  using is_message = void;
};

using NodeSelf = actor::WithInternal<RaftNode,
                                     void(DrainProposals),
                                     void(TimeHasCome),
                                     void(ContinueApply),
                                     void(log_writer::Written),
                                     void(log_writer::WriteFailed),
                                     void(log_writer::RoomChanged)>;

}  // namespace nomad::raft
