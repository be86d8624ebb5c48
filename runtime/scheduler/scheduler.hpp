// Schedulers: they turn one evaluation and a snapshot into a plan, step by step. They do nothing
// themselves: whoever drives one submits its plans, writes its evaluations and tells it the result.
//
//     start ──> Step with a plan ──(verified, written)──> resume ──> Step with a plan …
//       │                                                   │
//       └──────────────> Step without a plan: the end <─────┘
//
// May depend on: runtime/state. Deterministic given evaluation, snapshots, results, time and
// random generator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/object/object.hpp"
#include "runtime/scheduler/placement/proposal.hpp"
#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/eval.capnp.h"

namespace nomad::scheduler {

struct Step {
  /// To be verified and written; the scheduler is then resumed with the result. Empty: the end.
  std::optional<Plan> plan;

  /// At the end, what is to be written in one entry before the evaluation is acknowledged. Empty
  /// if the plan took it along.
  std::vector<Object<schema::Evaluation>> evaluations;

  /// Something could not be placed. If that was decided with reservations in the way, the
  /// evaluation is to be started again once they are gone, instead of taking this step.
  bool lacks_room = false;
};

/// What every attempt gets.
struct Moment {
  const state::Snapshot& state;
  std::int64_t now = 0;                        ///< Unix nanoseconds.
  const Reservations* reservations = nullptr;  ///< Plans under way; may be null.
};

class Scheduler {
public:
  virtual ~Scheduler() = default;

  virtual Step start(const Moment& moment) = 0;

  /// After the plan of the last step was dealt with; `moment.state` is at least as new as
  /// `result.refresh_index`.
  virtual Step resume(const Moment& moment, const PlanResult& result) = 0;

  /// For `job plan`: counts by group of the last step, filled also if nothing is to be changed.
  virtual const std::map<std::string, DesiredUpdates, std::less<>>& desired_updates() const = 0;
};

/// The scheduler for the evaluation's type: service, batch, system or sysbatch; null for others.
/// `seed` makes ids and choices.
std::unique_ptr<Scheduler> make_scheduler(Object<schema::Evaluation> eval, std::uint64_t seed);

}  // namespace nomad::scheduler
