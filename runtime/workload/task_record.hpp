// TaskRecord: what a client keeps of a task on its disk, as a value, and its form there. A client
// that starts again takes the task up from the last record that was saved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/object/object.hpp"
#include "runtime/workload/task_env.hpp"
#include "runtime/workload/task_state.hpp"
#include "schema/client.capnp.h"
#include "schema/plugin.capnp.h"

namespace nomad::workload {

/// A directory or file of the host as a task is to see it.
struct TaskMount {
  std::string task_path;
  std::string host_path;
  bool read_only = false;
  std::string propagation;  ///< "private", "host-to-task" or "bidirectional"

  friend bool operator==(const TaskMount&, const TaskMount&) = default;
};

struct TaskDevice {
  std::string task_path;
  std::string host_path;
  std::string permissions;  ///< Of cgroups: "rwm".

  friend bool operator==(const TaskDevice&, const TaskDevice&) = default;
};

/// What a driver needs to find a run again in another process.
struct TaskHandle {
  std::uint32_t version = 0;  ///< Of the driver's bytes; 0: a text of agents without versions.
  std::string data{};

  friend bool operator==(const TaskHandle&, const TaskHandle&) = default;
};

/// What a hook left at its last Prestart.
struct HookRecord {
  bool done = false;                          ///< It need not run again for this task.
  std::map<std::string, std::string> data{};  ///< For its next run, over restarts too.
  Variables env{};                            ///< Added to the task's environment.
  /// The same, above all others and as it is: secrets, which are never written down.
  Variables secret_env{};
  std::vector<TaskMount> mounts{};
  std::vector<TaskDevice> devices{};

  friend bool operator==(const HookRecord&, const HookRecord&) = default;
};

/// The record of a hook, shared with every hook that left the same: most leave no more than that
/// they are done.
struct NamedHook {
  std::string name;
  std::shared_ptr<const HookRecord> left;  ///< Never null.

  friend bool operator==(const NamedHook& a, const NamedHook& b) {
    return a.name == b.name && *a.left == *b.left;
  }
};

struct TaskRecord {
  std::shared_ptr<const TaskState> state = std::make_shared<const TaskState>();
  std::string run_id;       ///< Of the run that was asked for last; empty: none is under way.
  bool has_handle = false;  ///< The driver has started it.
  TaskHandle handle;
  bool run_complete = false;     ///< Nothing of the task will ever run again.
  std::vector<NamedHook> hooks;  ///< As they were first looked at.
  DriverNetwork network;
  schema::TaskScheduleOrder schedule_order = schema::TaskScheduleOrder::SCHEDULED;

  /// The hook's record, which is made when it is not there. Valid until one is made or left.
  const HookRecord& hook(const std::string& name);

  /// What the hook has left, in place of what it had.
  void leave(const std::string& name, HookRecord left);

  /// What the hook has left, if anything.
  std::map<std::string, std::string> data_of(const std::string& name) const;

  /// Whether the end that was saved last was a success, if what follows from it was not saved.
  /// Nothing where somebody had asked for a restart, or it was paused: that follows.
  std::optional<bool> unjudged_exit() const;
  /// Whether the node killed the task in its last run.
  bool was_being_killed() const;

  /// These leave alone whoever holds the present `state`.
  void add(TaskEvent event);
  void add_uncounted(TaskEvent event);  ///< TaskState::append_uncounted
  void set_paused(TaskScheduleState paused);
  void enter(TaskRunState next, std::int64_t now);  ///< Nothing happens if it is there already.
};

void write_mounts(const std::vector<TaskMount>& from,
                  capnp::List<schema::plugin::Mount>::Builder to);
void write_devices(const std::vector<TaskDevice>& from,
                   capnp::List<schema::plugin::Device>::Builder to);
std::vector<TaskMount> read_mounts(capnp::List<schema::plugin::Mount>::Reader from);
std::vector<TaskDevice> read_devices(capnp::List<schema::plugin::Device>::Reader from);

Object<schema::LocalTask> to_object(const TaskRecord& record);
TaskRecord to_task_record(schema::LocalTask::Reader saved);

}  // namespace nomad::workload
