// Node commands: what becomes of a node that registers, beats, falls silent or is changed by an
// operator, as commands for the log. Deciding code.
//
//   (new) ──register──▶ initializing ──heartbeat, owes nothing──▶ ready
//                            ▲                                      │ lease over
//                            └─heartbeat── down, disconnected ◀─────┘
//
// Invariants:
//   (1) registering never changes the status of a known node;
//   (2) a node that was given up, by whatever name, becomes `initializing` by its next heartbeat,
//       and `ready` only when it has reported its allocations since (compared by Raft index), so
//       that the scheduler never decides on half of its news;
//   (3) reports count while the node is initializing or ready, and at no other time.
// Nomad leads a node from down to ready without (2); we don't.
//
// What operators ask for is judged; what nodes say is the cluster's own work, whose secrets were
// checked where they came in.
//
// May depend on: runtime/base, access, object, state, scheduler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/access/authorize.hpp"
#include "runtime/cluster/eval_factory.hpp"
#include "schema/command.capnp.h"

namespace nomad::cluster {

/// Whether a node of this status was silent too long, and has sent no heartbeat since.
bool is_given_up(schema::NodeStatus status);

/// A command and the evaluations in it.
struct NodeDecision {
  access::Allowed allowed;
  Object<schema::Command> command = {};  ///< Empty: nothing to write.
  std::vector<std::string> eval_ids = {};
  /// A ready node's facts changed: its jobs are to be evaluated once the command is applied.
  bool evaluate_after = false;
  /// The node is silent and some of its allocations may outlive that for a while: it is to be
  /// looked at again when a further lease is over.
  bool look_again = false;
  /// The node whose jobs the evaluations are of; empty: none's.
  std::string evaluates = {};
};

/// Refused: a missing id or secret, or one that differs from the known node's. The computed class
/// is made here, whatever the client says.
Result<NodeDecision> decide_node_register(const state::Snapshot& snapshot,
                                          const Object<schema::Node>& node,
                                          const EvalSeed& seed);

/// What a heartbeat changes: nothing for a ready node or for one that owes reports, a step towards
/// `ready` for any other. `not_found` when the node is unknown.
Result<NodeDecision> decide_heartbeat(const state::Snapshot& snapshot,
                                      std::string_view node_id,
                                      const EvalSeed& seed);

/// Whether the node is not ready and may have to report before it can be. False for unknown nodes.
bool awaits_reports(const state::Snapshot& snapshot, std::string_view node_id);

/// A lease ran out: down, or disconnected while one of its allocations may outlive that. Nothing
/// when the node is so already.
NodeDecision decide_missed_heartbeat(const state::Snapshot& snapshot,
                                     std::string_view node_id,
                                     const EvalSeed& seed);

Result<NodeDecision> decide_eligibility(const state::Snapshot& snapshot,
                                        const access::Asking& asking,
                                        std::string_view node_id,
                                        bool eligible,
                                        const EvalSeed& seed);

Result<NodeDecision> decide_node_evaluate(const state::Snapshot& snapshot,
                                          const access::Asking& asking,
                                          std::string_view node_id,
                                          const EvalSeed& seed);

/// What `done` could not know: jobs that came to its node after it was decided and before it was
/// applied, as plans do that were under way then. `after` is a state with it. Nothing for most.
NodeDecision decide_latecomers(const state::Snapshot& after,
                               const NodeDecision& done,
                               const EvalSeed& seed);

/// What an earlier leader may not have come to: jobs that have something left on a node that is
/// down, while nothing is about to decide what becomes of it. Nothing for most.
NodeDecision decide_forgotten(const state::Snapshot& snapshot, const EvalSeed& seed);

Result<NodeDecision> decide_node_purge(const state::Snapshot& snapshot,
                                       const access::Asking& asking,
                                       std::string_view node_id,
                                       const EvalSeed& seed);

/// What happened on a node, as its client tells: the newest of `events`, but for those that the
/// node has already. `not_found` when the node is unknown. `now` (Unix nanoseconds) is of those
/// that do not say when.
Result<NodeDecision> decide_node_events(const state::Snapshot& snapshot,
                                        std::string_view node_id,
                                        const std::vector<Object<schema::NodeEvent>>& events,
                                        std::int64_t now);

/// The node that `reports` come from: the one that the first of them names. Refused: none, one that
/// is unknown, and one that is down or disconnected, which has to send a heartbeat first. `claimed`
/// is the node that the sender says it is; empty: it does not say.
Result<std::string> check_reporter(const state::Snapshot& snapshot,
                                   const std::vector<Object<schema::Allocation>>& reports,
                                   std::string_view claimed);

/// Whether the allocation that `report` names is another node's: then it is not `node_id`'s to
/// speak of. Unknown ones are nobody's.
bool is_foreign(const state::Snapshot& snapshot, AllocView report, std::string_view node_id);

/// What a node says of its allocations at one time.
struct NodeReport {
  std::uint64_t number = 0;  ///< Grows with each of the node; 0: it gives none.
  std::vector<Object<schema::Allocation>> allocs;
};

/// Several nodes' reports as one command; the newest of an allocation's wins.
NodeDecision decide_reports(const state::Snapshot& snapshot,
                            const std::vector<NodeReport>& reports,
                            const EvalSeed& seed);

}  // namespace nomad::cluster
