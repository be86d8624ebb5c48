// AllocRunner: runs one allocation on this node: its hooks, its tasks in their order, its health,
// and what the servers hear of it.
//
//   new ─Begin─▶ prerun hooks ─▶ tasks begin ─▶ all tasks ended ─▶ postrun hooks ─▶ over
//   over ─Destroy─▶ destroy hooks ─▶ gone
//
// Killing goes leader, others, sidecars, each stage waited for; poststop tasks are not killed.
// States of tasks come in bursts; they are looked at together, once.
//
// Owns:   the task runners, the hooks that are actors, the forced and computed client status.
// Takes:  the messages below; reports go to the AllocSync, urgently when ClientStatus changed.
// Parent: the client; it hears Status whenever the allocation's status changed or it is over.
// Ends:   after Destroy or Detach, or by the parent's exit message.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "actors/client/client_api.hpp"
#include "actors/client/context.hpp"
#include "actors/client/task_runner.hpp"
#include "actors/core/actor.hpp"

namespace nomad::client {

namespace alloc_runner {

struct Done {
  using is_message = void;
};

/// Starts, or takes up what the last agent left.
struct Begin {
  using is_message = void;
};

/// The servers changed the allocation. One with a lower AllocModifyIndex than the last is ignored.
struct Assign {
  using is_message = void;
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
};

/// The servers had taken the allocation for unknown and have it back: tells each task's history,
/// and reports the current state.
struct Reconnect {
  using is_message = void;
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
};

/// The servers had given the node up: reports the current state, whatever they have acknowledged.
struct ReportAgain {
  using is_message = void;
};

/// Ends the tasks, if they run, and removes what is left on this machine. Answered when nothing
/// is; the rows of the database are the parent's to erase.
struct Destroy {
  using is_message = void;
};

/// The agent ends, the tasks go on.
struct Detach {
  using is_message = void;
};

struct ServersContacted {
  using is_message = void;
};

struct DriverReplaced {
  using is_message = void;
  std::string name;
  Driver driver;
};

/// To the parent.
struct Status {
  using is_message = void;
  std::string alloc_id;
  schema::ClientStatus status = schema::ClientStatus::PENDING;
  bool over = false;  ///< Every task has ended for good, and every hook.
};

}  // namespace alloc_runner

using AllocRunner = actor::Interface<void(alloc_runner::Begin),
                                     void(alloc_runner::Assign),
                                     void(alloc_runner::Reconnect),
                                     void(alloc_runner::ReportAgain),
                                     void(alloc_runner::ServersContacted),
                                     void(alloc_runner::DriverReplaced),
                                     alloc_runner::Done(alloc_runner::Destroy),
                                     alloc_runner::Done(alloc_runner::Detach),
                                     client_api::Done(client_api::RestartTask),
                                     client_api::Done(client_api::SignalTask),
                                     client_api::AllocUsage(client_api::AllocStats),
                                     client_api::AllocDir(client_api::AllocDirOf)>;

using AllocRunnerParent = actor::Interface<void(alloc_runner::Status)>;

struct AllocSetup {
  Context context;
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
  AllocRunnerParent parent;
  /// What the last agent left; `restored` says that there was one.
  bool restored = false;
  std::vector<std::pair<std::string, Object<schema::LocalTask>>> saved_tasks;
  std::optional<workload::HealthStatus> saved_health;
};

/// Whether this node can run the allocation at all: its group is in the job, every task has a
/// driver here and resources. The error is what the servers are told.
Result<> check_alloc(const ClientContext& context,
                     schema::Allocation::Reader alloc,
                     schema::Job::Reader job);

/// The allocation must have passed `check_alloc`.
AllocRunner spawn_alloc_runner(caf::actor_system& system, AllocSetup setup);

/// The role of the actor, so that a load test may run other ones in its place.
using AllocRunnerFactory = std::function<AllocRunner(caf::actor_system&, AllocSetup)>;

}  // namespace nomad::client
