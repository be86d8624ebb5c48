// TaskRecord: what a client keeps of a task on its disk, as a value, and its form there. A client
// that starts again takes the task up from the last record that was saved.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/object/object.hpp"
#include "runtime/workload/task_env.hpp"
#include "runtime/workload/task_state.hpp"
#include "schema/client.capnp.h"

namespace nomad::workload {

/// What a hook left at its last Prestart.
struct HookRecord {
  bool done = false;                        ///< It need not run again for this task.
  std::map<std::string, std::string> data;  ///< For its next run, over restarts too.
  Variables env;                            ///< Added to the task's environment.

  friend bool operator==(const HookRecord&, const HookRecord&) = default;
};

struct TaskRecord {
  std::shared_ptr<const TaskState> state = std::make_shared<const TaskState>();
  std::string run_id;         ///< Of the run that was asked for last; empty: none is under way.
  bool has_handle = false;    ///< The driver has started it.
  std::string handle;         ///< The driver's own, opaque.
  bool run_complete = false;  ///< Nothing of the task will ever run again.
  std::vector<std::pair<std::string, HookRecord>>
      hooks;  ///< By name, as they were first looked at.
  DriverNetwork network;

  /// The hook's record, which is made when it is not there.
  HookRecord& hook(const std::string& name);

  /// What the hook has left, if anything.
  std::map<std::string, std::string> data_of(const std::string& name) const;

  /// These leave alone whoever holds the present `state`.
  void add(TaskEvent event);
  void enter(TaskRunState next, std::int64_t now);  ///< Nothing happens if it is there already.
};

Object<schema::LocalTask> to_object(const TaskRecord& record);
TaskRecord to_task_record(schema::LocalTask::Reader saved);

}  // namespace nomad::workload
