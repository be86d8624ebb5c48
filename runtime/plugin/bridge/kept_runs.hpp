// KeptRuns: the runs of a driver as files of the plugin's own, beside what the agent keeps of them:
// a run whose record the agent has lost, or never got, is found by them.
//
// Threads: the plugin's. Files outlive processes, and no machine: tasks don't, either.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/plugin/bridge/wire.hpp"
#include "runtime/plugin/sdk/task_driver.hpp"

namespace nomad::plugin::bridge {

/// A run as it is written: without what may be secret and is not needed to find it.
std::string write_run(const drivers::KeptRun& run);

/// Nothing: it is none.
std::optional<drivers::KeptRun> read_run(std::string_view bytes);

class KeptRuns {
public:
  /// `directory` is made.
  explicit KeptRuns(std::string directory);

  Result<> put(const TaskId& id, const drivers::KeptRun& run) const;
  std::optional<drivers::KeptRun> find(const TaskId& id) const;
  void forget(const TaskId& id) const;

  /// All that are there.
  std::vector<std::pair<TaskId, drivers::KeptRun>> all() const;

private:
  std::string path(const TaskId& id) const;

  std::string directory_;
};

}  // namespace nomad::plugin::bridge
