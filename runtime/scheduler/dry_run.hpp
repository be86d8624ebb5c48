// Dry run: what the schedulers would do with a job, for `job plan`. Nothing is written.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/object/object.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "runtime/scheduler/what_if.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::scheduler {

/// New allocations that come to one node.
struct PlacedOn {
  std::string node_name;
  std::uint64_t count = 0;
};

struct DryRun {
  Object<schema::Job> stored;          ///< The job as it is; empty if there is none.
  std::uint64_t job_modify_index = 0;  ///< Of `stored`; 0 if there is none.
  std::vector<std::pair<std::string, DesiredUpdates>> desired_updates;  ///< By group.
  /// By group, then by the id of the node. What stays where it is has no part in it.
  std::map<std::string, std::map<std::string, PlacedOn>> placed;
  std::vector<state::AllocRef> preempted;  ///< As they are stored.
  std::vector<std::pair<std::string, Object<schema::AllocMetric>>> failed_groups;  ///< By group.
  /// What would follow: blocked evaluations, follow-ups, the next step of a rolling update.
  std::vector<Object<schema::Evaluation>> created_evals;
  std::optional<OtherJobs> others;  ///< Where circumstances were supposed.
};

/// A dry run under way. One of a job whose type is a plugin's waits for the plugin's decisions;
/// others are over when they begin.
class DryRunUnderWay {
public:
  /// Registers `job`, which is canonicalized and validated, on a private continuation of `snapshot`
  /// and schedules it there. `is_changed`: its specification differs from the stored one's; if it
  /// does not, the stored version is scheduled again. Errors are those of registration. Periodic
  /// and parameterized jobs place nothing. `region` is the server's. `circumstances` are supposed
  /// to have come about before, in this order; what is wrong with one is an error of `suppose`.
  static Result<DryRunUnderWay> begin(const state::Snapshot& snapshot,
                                      const Object<schema::Job>& job,
                                      bool is_changed,
                                      std::int64_t now,
                                      std::uint64_t seed,
                                      std::string_view region = "global",
                                      std::span<const Circumstance> circumstances = {});

  DryRunUnderWay(DryRunUnderWay&&) noexcept;
  DryRunUnderWay& operator=(DryRunUnderWay&&) noexcept;
  ~DryRunUnderWay();

  /// What the plugin is to be asked; null: it is over.
  const Question* question() const;

  /// Goes on with the decision. The error says what of it is nonsense.
  Result<> answer(const Object<schema::plugin::Decision>& decision);

  /// Once it is over.
  DryRun take() &&;

private:
  class Core;

  explicit DryRunUnderWay(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

/// As `begin`, of a job whose type is built in.
Result<DryRun> dry_run(const state::Snapshot& snapshot,
                       const Object<schema::Job>& job,
                       bool is_changed,
                       std::int64_t now,
                       std::uint64_t seed,
                       std::string_view region = "global",
                       std::span<const Circumstance> circumstances = {});

}  // namespace nomad::scheduler
