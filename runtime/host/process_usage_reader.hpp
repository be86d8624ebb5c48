// ProcessUsageReader: one reader of cpu and memory for all tasks, on demand.
//
// A task's processes come from its cgroup or, without one, from the tree below its executor (which
// is a subreaper, so orphans stay in the tree). Percentages are since the previous sample of the
// same process; the first sample of one has 0, as Nomad's.
//
// Several may ask at once, each for another task or for the same one: what was found within
// `fresh_for` is the answer for all of them. So /proc is walked once for all tasks of the node, and
// a percentage is never that of a moment too short for the kernel's clock.
//
// Not thread-safe: one owner, who calls it from one thread at a time. Blocks on /proc only.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "runtime/host/cgroup/cgroup.hpp"
#include "runtime/host/usage.hpp"

namespace nomad::host {

/// Where to find a task's processes.
struct TaskProcesses {
  std::string key{};       ///< Remembers previous samples; `executor_key`.
  pid_t executor_pid = 0;  ///< The tree's root, itself not counted.
  CgroupScope cgroup{};    ///< Preferred when not empty.
};

class ProcessUsageReader {
public:
  /// `total_compute_mhz` and `cores` turn percent into ticks (fingerprint's figures).
  ProcessUsageReader(std::uint64_t total_compute_mhz,
                     unsigned cores,
                     std::chrono::nanoseconds fresh_for = {},
                     std::string proc = "/proc");

  /// Usage of each task, in order, `fresh_for` old at most; one without processes has zeros.
  std::vector<TaskUsage> read(std::span<const TaskProcesses> tasks);

  /// Drops what is remembered of a task that has ended.
  void forget(const std::string& key);

private:
  struct Sample {
    std::uint64_t start_ticks = 0;
    std::uint64_t user_ns = 0;
    std::uint64_t system_ns = 0;
    std::int64_t at = 0;
  };

  struct Task {
    std::map<pid_t, Sample> samples{};
    TaskUsage usage{};
    std::int64_t at = 0;  ///< When it was read, on the steady clock; 0: never.
  };

  using Children = std::map<pid_t, std::vector<pid_t>>;

  bool is_fresh(std::int64_t at, std::int64_t now) const;
  const Children& children(std::int64_t now);
  TaskUsage read_task(const TaskProcesses& task,
                      std::int64_t now,
                      std::map<pid_t, Sample>& samples);
  ProcessUsage read_process(pid_t pid,
                            std::int64_t now,
                            std::map<pid_t, Sample>& before,
                            std::map<pid_t, Sample>& after);

  std::optional<std::uint64_t> read_network(pid_t pid) const;

  std::uint64_t total_compute_mhz_;
  unsigned cores_;
  std::string proc_;
  std::string own_network_;  ///< The network namespace of this process; empty: unknown.
  std::uint64_t nanoseconds_per_tick_;
  std::int64_t fresh_for_;  ///< Nanoseconds.
  Children children_;
  std::int64_t walked_at_ = 0;  ///< 0: not since the call began, or too long before.
  std::map<std::string, Task> tasks_;
};

}  // namespace nomad::host
