// AllocRunner: runs one allocation on this node: its hooks, its tasks in their order, its health,
// and what the servers hear of it.
//
//   new ─Begin─▶ prerun hooks ─▶ tasks begin ─▶ all tasks ended ─▶ postrun hooks ─▶ over
//   over ─Destroy─▶ destroy hooks ─▶ gone
//
// Killing goes leader, others, sidecars, each stage waited for; poststop tasks are not killed.
// States of tasks come in bursts; they are looked at together, once.
//
// Owns:   the task runners (AllocTasks), the hooks that are actors (AllocHooks), the client status.
// Takes:  what the role AllocRunner takes (runner.hpp); reports go to the AllocSync, urgently when
//         ClientStatus changed.
// Parent: client, report: the allocation fails, its tasks end, its hooks clean up. The parent hears
//         Status whenever the allocation's status changed or it is over.
// Ends:   after Destroy or Detach, or by the parent's exit message.
#pragma once

#include "actors/client/runner.hpp"
#include "actors/client/task/task_runner.hpp"
#include "actors/roles/node_door.hpp"

namespace nomad::telemetry {
class Registry;
}

namespace nomad::client {

/// What the runners of this node's allocations are made from, as it was when they were made.
struct AllocParts {
  std::shared_ptr<const TaskParts> tasks;             ///< For the runners of their tasks.
  std::shared_ptr<telemetry::Registry> task_metrics;  ///< Null: what tasks do is not counted.
  ClientDb db;
  NodeDoor servers;  ///< For what hooks ask of them.
};

/// Whether this node can run the allocation at all: its group is in the job, every task has a
/// driver here and resources. The error is what the servers are told.
Result<> check_alloc(const KnownDrivers& drivers, AllocView alloc, schema::Job::Reader job);

/// The allocation must have passed `check_alloc`.
AllocRunner spawn_alloc_runner(const actor::Owner& owner,
                               std::shared_ptr<const AllocParts> parts,
                               AllocSetup setup);

}  // namespace nomad::client
