// TaskLogs: the outputs of a task, kept as the agent keeps those of its own drivers: `alloc logs`
// shows them, and they are rotated as the `logs` block of the task says.
//
//     const auto logs = TaskLogs::open(config);      // in TaskDriver::start
//     if (!logs) return logs.error();
//     … in the new process: dup2(logs->output(), 1); dup2(logs->errors(), 2); …
//
// A process of its own reads what the task writes, and goes on when the plugin's process ends; it
// ends itself when nobody has the ends any more: the task, what it has started, and this object.
// It is a copy of this process, as fork(2) makes it. If it is killed, the task's next line is a
// broken pipe.
//
// Where the files are: `<allocRoot>/alloc/logs/<task>.stdout.<n>`, and `stderr`. A confined plugin
// needs the directory of allocations among its `paths`.
#pragma once

#include <utility>

#include "runtime/base/result.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::plugin {

class TaskLogs {
public:
  /// The error says which file can't be opened. A task whose logs are disabled writes to nowhere.
  static Result<TaskLogs> open(schema::plugin::TaskConfig::Reader config);

  TaskLogs(TaskLogs&& other) noexcept
      : output_{std::exchange(other.output_, -1)}, errors_{std::exchange(other.errors_, -1)} {}

  TaskLogs& operator=(TaskLogs&&) = delete;
  ~TaskLogs();

  /// What the task is to have as 1 and 2. Closed with this object, and at exec(2) but for copies.
  int output() const { return output_; }

  int errors() const { return errors_; }

private:
  TaskLogs(int output, int errors) : output_{output}, errors_{errors} {}

  int output_ = -1;
  int errors_ = -1;
};

}  // namespace nomad::plugin
