// TaskLocal: what a task runner keeps in the database, as a value.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/hook.hpp"
#include "runtime/workload/task_env.hpp"
#include "schema/client.capnp.h"

namespace nomad::client {

struct HookState {
  bool done = false;
  std::map<std::string, std::string> data;
  workload::Variables env;

  friend bool operator==(const HookState&, const HookState&) = default;
};

struct TaskLocal {
  TaskStatePtr state = std::make_shared<workload::TaskState>();
  std::string run_id;       ///< Of the run that was asked for last; empty: none is under way.
  bool has_handle = false;  ///< The driver has started it.
  std::string handle;
  bool run_complete = false;
  std::vector<std::pair<std::string, HookState>> hooks;  ///< By hook, in the order they first ran.
  workload::DriverNetwork network;

  /// The hook's state, which is made when it is not there.
  HookState& hook(const std::string& name);
};

Object<schema::LocalTask> to_object(const TaskLocal& local);
TaskLocal to_task_local(schema::LocalTask::Reader saved);

}  // namespace nomad::client
