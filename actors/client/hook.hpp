// Hooks: steps around the life of an allocation or a task, each apart from the others. A hook is
// either a set of functions, which the StepRunner runs, or an actor with a life of its own. The
// catalog names them in their order.
//
// Rules of actors that are hooks:
//   - A request is answered always, on the cancel branch too (`Errc::cancelled`).
//   - A hook that has nothing more to do quits; the runner does not ask it again.
//   - Only requests of the phases that its catalog entry names are sent.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/actor.hpp"
#include "runtime/object/object.hpp"
#include "runtime/workload/task_env.hpp"
#include "runtime/workload/task_state.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"

namespace nomad::client {

using TaskStatePtr = std::shared_ptr<const workload::TaskState>;

namespace hook {

struct Done {
  using is_message = void;
};

/// Give up what is pending. Sent urgently.
struct Cancel {
  using is_message = void;
};

/// Before the tasks start. One hook after the other; an error fails the allocation.
struct Prerun {
  using is_message = void;
};

/// The servers changed the allocation in place. May come at any time.
struct AllocChanged {
  using is_message = void;
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
};

/// All tasks are about to be restarted.
struct PreTaskRestart {
  using is_message = void;
};

/// The tasks are about to be killed; they are not before this is answered. May come twice.
struct PreKill {
  using is_message = void;
};

/// All tasks have ended. Comes without Prerun too.
struct Postrun {
  using is_message = void;
};

/// The states of the tasks, in the group's order. Comes at every change.
struct TasksChanged {
  using is_message = void;
  std::vector<TaskStatePtr> tasks;
  bool alloc_failed = false;
};

/// Whether the allocation is healthy; told to the runner, once.
struct HealthDecided {
  using is_message = void;
  bool healthy = false;
  std::vector<std::pair<std::size_t, std::string>> reasons;  ///< By task, when it is not.
};

/// Before each start of a task, unless the hook said earlier that it is done.
struct Prestart {
  using is_message = void;
  std::map<std::string, std::string> data;  ///< What the hook left at its last run.
  std::shared_ptr<const workload::TaskEnv> env;
};

/// What a Prestart came to.
struct Prestarted {
  using is_message = void;
  std::map<std::string, std::string> data;  ///< Kept for the next run, over restarts too.
  workload::Variables env;                  ///< Added to the task's environment.
  bool done = false;                        ///< Not to be run again for this task.
};

/// The task runs.
struct Poststart {
  using is_message = void;
};

/// The task's process has ended.
struct Exited {
  using is_message = void;
};

/// The task will never run again. Comes once, without Prestart too.
struct Stop {
  using is_message = void;
  std::map<std::string, std::string> data;
};

/// The allocation changed in place, or a token did.
struct TaskChanged {
  using is_message = void;
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
};

}  // namespace hook

using AllocHook = actor::Interface<hook::Done(hook::Prerun),
                                   hook::Done(hook::PreTaskRestart),
                                   hook::Done(hook::PreKill),
                                   hook::Done(hook::Postrun),
                                   void(hook::AllocChanged),
                                   void(hook::TasksChanged),
                                   void(hook::Cancel)>;

using TaskHook = actor::Interface<hook::Prestarted(hook::Prestart),
                                  hook::Done(hook::Poststart),
                                  hook::Done(hook::PreKill),
                                  hook::Done(hook::Exited),
                                  hook::Done(hook::Stop),
                                  void(hook::TaskChanged),
                                  void(hook::Cancel)>;

/// What the health hook tells the runner of the allocation.
using HealthListener = actor::Interface<void(hook::HealthDecided)>;

}  // namespace nomad::client
