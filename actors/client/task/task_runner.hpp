// TaskRunner: runs one task of an allocation, from its first start to its last end. What happens
// when, and what is durable before it, is decided by workload::TaskMachine; the runner tells it
// what it hears and carries out what it wants: it asks hooks, driver and database, and sets timers.
//
// Owns:   the machine (and so the task's state, told to the parent at each change, and its row in
//         the database), the hooks that are actors.
// Takes:  what the role TaskRunner lists, all of it in every state; after Detach nothing changes
// the
//         task's state any more.
// Parent: alloc_runner, report: the task fails. It hears Changed and, last, Ended.
// Ends:   by itself after Ended, after Detach, or by the parent's exit message.
#pragma once

#include <optional>
#include <string>

#include "actors/client/drivers/driver_manager.hpp"
#include "actors/client/hooks/hook.hpp"
#include "actors/client/tools/client_db.hpp"
#include "actors/core/actor.hpp"
#include "actors/roles/client_api.hpp"
#include "runtime/workload/task_state.hpp"
#include "runtime/workload/usage/usage_history.hpp"
#include "schema/client.capnp.h"

namespace nomad::host {
class ExecPumpOnDemand;
}

namespace nomad::workload {
struct TaskHookTraits;
}

namespace nomad::client {

using TaskStatePtr = std::shared_ptr<const workload::TaskState>;

namespace task_runner {

struct Done {
  using is_message = void;
};

/// The allocation has a network of its own, which the task joins when it starts.
struct Joins {
  using is_message = void;
  std::string network_namespace;  ///< Path.
};

/// The allocation's own hooks have run.
struct Begin {
  using is_message = void;
};

/// They failed: the task fails with this reason as soon as it begins.
struct FailSetup {
  using is_message = void;
  std::string reason;
};

/// Whether the task's lifecycle stage may start now.
struct Gate {
  using is_message = void;
  bool open = false;
};

/// The allocation changed.
struct Assign {
  using is_message = void;
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
};

/// Ends the task for good. With an event, that is told first. A second one changes nothing.
struct Kill {
  using is_message = void;
  std::optional<workload::TaskEvent> event;
  bool skip_delay = false;  ///< Without the task's shutdown_delay.
};

/// Cuts short a shutdown_delay that is under way.
struct SkipDelay {
  using is_message = void;
};

/// Adds an event to the task's history.
struct Tell {
  using is_message = void;
  workload::TaskEvent event;
};

/// Restarts the running task; answered when the running process has ended. `failure`: the restart
/// policy decides and counts. `force`: a dead task runs again too. "Task not running" (rejected)
/// when there is nothing to restart.
struct Restart {
  using is_message = void;
  workload::TaskEvent event;
  bool failure = false;
  bool force = false;
};

struct Signal {
  using is_message = void;
  std::string signal;
  /// Of hooks: what users read of it. `not_found` while the task does not run.
  std::string reason{};
};

/// Overrides the task's schedule, or has it obeyed again. Answered when that is saved. `rejected`:
/// the task has no schedule, or is over.
struct Pause {
  using is_message = void;
  schema::TaskScheduleOrder order = schema::TaskScheduleOrder::SCHEDULED;
};

/// What the schedule, or an order in its place, says now. `rejected`: the task has none.
struct ReadPause {
  using is_message = void;
};

struct ScheduleState {
  using is_message = void;
  schema::TaskScheduleState state = schema::TaskScheduleState::RUN;
};

struct ReadUsage {
  using is_message = void;
};

struct ReadHistory {
  using is_message = void;
};

/// What the task has used; null: nothing is kept, or nothing is known yet. It changes no more.
struct History {
  using is_message = void;
  std::shared_ptr<const workload::UsageHistory> usage;
};

/// Runs a command beside the task. `not_found` while the task does not run.
struct Exec {
  using is_message = void;
  host::ExecCommand command;
};

/// The servers have confirmed which allocations belong here.
struct ServersContacted {
  using is_message = void;
};

/// The servers may have forgotten what hooks told them.
struct TellServersAgain {
  using is_message = void;
};

/// The task's driver has died, or another has followed it.
struct DriverReplaced {
  using is_message = void;
  KnownDriver driver;
};

/// The agent ends and the task goes on. Answered when everything is recorded.
struct Detach {
  using is_message = void;
};

/// To the parent: the task's new state.
struct Changed {
  using is_message = void;
  std::size_t index = 0;
  TaskStatePtr state;
};

/// To the parent: nothing of the task will ever run again.
struct Ended {
  using is_message = void;
  std::size_t index = 0;
  History history{};
};

}  // namespace task_runner

using TaskRunner = actor::Interface<void(task_runner::Joins),
                                    void(task_runner::Begin),
                                    void(task_runner::FailSetup),
                                    void(task_runner::Gate),
                                    void(task_runner::Assign),
                                    void(task_runner::Kill),
                                    void(task_runner::SkipDelay),
                                    void(task_runner::Tell),
                                    void(task_runner::ServersContacted),
                                    void(task_runner::DriverReplaced),
                                    task_runner::Done(task_runner::Restart),
                                    task_runner::Done(task_runner::Signal),
                                    task_runner::Done(task_runner::Pause),
                                    task_runner::ScheduleState(task_runner::ReadPause),
                                    client_api::TaskUsage(task_runner::ReadUsage),
                                    task_runner::History(task_runner::ReadHistory),
                                    client_api::ExecStarted(task_runner::Exec),
                                    task_runner::Done(task_runner::Detach),
                                    void(task_runner::TellServersAgain)>;

using TaskRunnerParent = actor::Interface<void(task_runner::Changed), void(task_runner::Ended)>;

struct TaskNode;

/// What the runners of this node's tasks are made from, as it was when they were made.
struct TaskParts {
  std::shared_ptr<const TaskNode> node;
  std::shared_ptr<const KnownDrivers> drivers;
  DriverManager driver_manager;
  std::shared_ptr<const Hooks> hooks;
  std::shared_ptr<const std::vector<workload::TaskHookTraits>> hook_traits;  ///< `task_hook_traits`
  std::shared_ptr<host::ExecPumpOnDemand> exec_pump;  ///< Of commands beside tasks.
  ClientDb db;
  Nanoseconds max_kill_timeout = std::chrono::seconds{30};
  Nanoseconds usage_interval = std::chrono::seconds{1};  ///< As in ClientOptions.
  bool usage_counts = false;                             ///< Metrics show what tasks use.
  bool keeps_usage = false;                              ///< As in ClientOptions.
  UnixClock unix_now;
  std::uint64_t seed = 0;
};

struct TaskSetup {
  std::shared_ptr<const TaskParts> parts;
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
  std::size_t index = 0;  ///< Of the task in its group.
  TaskRunnerParent parent;
  PluginAgent agent;  ///< For the task's hooks: the runner of the allocation.
  /// What the last agent left, when this one found the task on its disk.
  Object<schema::LocalTask> saved;
  bool may_run = false;  ///< Nothing was found, but an earlier agent may have started it.
};

TaskRunner spawn_task_runner(const actor::Owner& owner, TaskSetup setup);

}  // namespace nomad::client
