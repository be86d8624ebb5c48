// Node commands: what becomes of a node that registers, beats, falls silent or is changed by an
// operator, as commands for the log. Deciding code.
//
// A node that missed heartbeats is `initializing` until it has reported its allocations (compared
// by Raft index) and only then `ready`, so that the scheduler never decides on half of its news.
// May depend on: runtime/base, object, state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cluster/eval_factory.hpp"
#include "schema/command.capnp.h"

namespace nomad::cluster {

/// A command and the evaluations in it.
struct NodeDecision {
  Object<schema::Command> command;  ///< Empty: nothing to write.
  std::vector<std::string> eval_ids;
  /// A ready node's facts changed: its jobs are to be evaluated once the command is applied.
  bool evaluate_after = false;
};

/// Refused: a missing id or secret, or one that differs from the known node's. The computed class
/// is made here, whatever the client says.
Result<NodeDecision> decide_node_register(const state::Snapshot& snapshot,
                                          const Object<schema::Node>& node,
                                          const EvalSeed& seed);

/// What a heartbeat changes: nothing for a ready node, a step towards `ready` for any other.
/// `not_found` when the node is unknown.
Result<NodeDecision> decide_heartbeat(const state::Snapshot& snapshot,
                                      std::string_view node_id,
                                      const EvalSeed& seed);

/// A lease ran out: down, or disconnected when one of its allocations may outlive that. Nothing
/// when the node is not up anyway.
NodeDecision decide_missed_heartbeat(const state::Snapshot& snapshot,
                                     std::string_view node_id,
                                     const EvalSeed& seed);

Result<NodeDecision> decide_eligibility(const state::Snapshot& snapshot,
                                        std::string_view node_id,
                                        bool eligible,
                                        const EvalSeed& seed);

Result<NodeDecision> decide_node_evaluate(const state::Snapshot& snapshot,
                                          std::string_view node_id,
                                          const EvalSeed& seed);

Result<NodeDecision> decide_node_purge(const state::Snapshot& snapshot,
                                       std::string_view node_id,
                                       const EvalSeed& seed);

/// Whether a node may report now: not while it is down or disconnected.
Result<> check_reporter(const state::Snapshot& snapshot, std::string_view node_id);

/// Several nodes' reports as one command; the newest of an allocation's wins.
NodeDecision decide_reports(const state::Snapshot& snapshot,
                            const std::vector<Object<schema::Allocation>>& reports,
                            const EvalSeed& seed);

}  // namespace nomad::cluster
