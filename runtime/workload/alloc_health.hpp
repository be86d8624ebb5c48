// AllocHealth: decides whether a new allocation is healthy, for deployments and drains.
//
// Healthy: every task has been running, without a restart, for `min_healthy_time`, and (when checks
// count and there are any) every check of the job has been passing as long. Unhealthy: a task
// failed or ended that should not, the allocation failed as a whole, or the deadline passed.
// A task that is paused, by its schedule or by order, is as it should be, and while one is, checks
// do not count. Prestart tasks may end; a poststart task that succeeded and poststop tasks do not
// matter. An allocation that the servers stop gets no verdict.
//
// Times are a monotonic clock's. A verdict is final.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/workload/checks/check_result.hpp"
#include "runtime/workload/task_state.hpp"

namespace nomad::workload {

struct HealthRules {
  Nanoseconds min_healthy_time{0};
  Nanoseconds healthy_deadline{0};
  std::size_t checks = 0;  ///< That have to pass; 0 when they do not count.

  friend bool operator==(const HealthRules&, const HealthRules&) = default;
};

struct HealthTask {
  std::string name;
  std::string hook;  ///< Of its lifecycle; "" for a main task.
  bool sidecar = false;
};

class AllocHealth {
public:
  enum class Verdict : std::uint8_t { undecided, healthy, unhealthy };

  AllocHealth(HealthRules rules, std::vector<HealthTask> tasks, Nanoseconds now);

  /// The tasks' states, in the order they were given in. `alloc_failed`: something beyond its
  /// tasks failed.
  Verdict update(std::span<const TaskState* const> states, bool alloc_failed, Nanoseconds now);

  /// How the checks of the job stand, after each change. All pass if none of these is less than
  /// passing, and if there are as many as the rules say: who knows of no results knows of no
  /// health.
  Verdict checks(std::vector<CheckStanding> standings, Nanoseconds now);

  /// Time has passed.
  Verdict tick(Nanoseconds now);

  /// When to `tick`; nothing when the verdict is out.
  std::optional<Nanoseconds> next_tick() const;

  /// Why `task` (by its position) made the allocation unhealthy; "" when it did not. Nomad's texts.
  std::string explain(std::size_t task,
                      const TaskState& state,
                      std::int64_t unix_now,
                      Nanoseconds now) const;

private:
  Verdict decide(Nanoseconds now);
  std::string explain_checks(std::string_view task) const;

  bool needs_checks() const { return rules_.checks > 0 && !has_paused_; }

  HealthRules rules_;
  std::vector<HealthTask> tasks_;
  Nanoseconds deadline_;
  Verdict verdict_ = Verdict::undecided;
  bool alloc_failed_ = false;
  bool has_paused_ = false;
  /// Of the tasks, by wall clock; nothing: not all have started that are to run.
  std::optional<std::int64_t> latest_start_;
  std::optional<Nanoseconds> running_since_;
  std::optional<Nanoseconds> passing_since_;
  std::vector<CheckStanding> standings_;
};

}  // namespace nomad::workload
