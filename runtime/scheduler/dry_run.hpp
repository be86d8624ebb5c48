// Dry run: what the schedulers would do with a job, for `job plan`. Nothing is written.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/object/object.hpp"
#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::scheduler {

struct DryRun {
  Object<schema::Job> stored;          ///< The job as it is; empty if there is none.
  std::uint64_t job_modify_index = 0;  ///< Of `stored`; 0 if there is none.
  std::vector<std::pair<std::string, DesiredUpdates>> desired_updates;  ///< By group.
  std::vector<state::AllocRef> preempted;                               ///< As they are stored.
  std::vector<std::pair<std::string, Object<schema::AllocMetric>>> failed_groups;  ///< By group.
  /// What would follow: blocked evaluations, follow-ups, the next step of a rolling update.
  std::vector<Object<schema::Evaluation>> created_evals;
  /// The type is a plugin's, who would be asked for the rest: nothing of it is known here.
  bool is_asked = false;
};

/// Registers `job`, which is canonicalized and validated, on a private continuation of `snapshot`
/// and schedules it there. `is_changed`: its specification differs from the stored one's; if it
/// does not, the stored version is scheduled again. Errors are those of registration. Periodic and
/// parameterized jobs place nothing.
Result<DryRun> dry_run(const state::Snapshot& snapshot,
                       const Object<schema::Job>& job,
                       bool is_changed,
                       std::int64_t now,
                       std::uint64_t seed);

}  // namespace nomad::scheduler
