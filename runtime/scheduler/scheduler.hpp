// Schedulers: they turn one evaluation and a snapshot into a plan, step by step. They do nothing
// themselves: whoever drives one submits its plans, writes its evaluations and tells it the result.
//
//     start ──> Step with a plan ──(verified, written)──> resume ──> Step with a plan …
//       │                                                   │
//       └──────────────> Step without a plan: the end <─────┘
//
// Where the job's type is that of a plugin, a step may be a question instead: whoever drives the
// scheduler has it answered, and takes the step that follows (asking.hpp).
//
// A decision is a function of its `DecisionInputs` and the state at their index: ids and choices
// are drawn from a seed that evaluation, index and attempt make. Who keeps the inputs can make the
// decision again (`decide_again`).
//
// May depend on: runtime/state. Deterministic.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/object/object.hpp"
#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/scheduler/plan/reservations.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/eval.capnp.h"

namespace nomad::schema::plugin {
struct Decision;
struct Scheduling;
}  // namespace nomad::schema::plugin

namespace nomad::scheduler {

class Question;

/// What the attempts before have left to the next one.
struct Progress {
  std::uint32_t attempts = 0;   ///< That were made.
  int fruitless = 0;            ///< Of them, the last ones in a row that came to nothing.
  std::string blocked_id = {};  ///< Of the blocked evaluation that is written; empty: none.
};

/// All that one decision depends on, beside the state at `snapshot_index`. A value; the plans under
/// way are shared.
struct DecisionInputs {
  Object<schema::Evaluation> eval;
  std::uint64_t snapshot_index = 0;
  std::int64_t now = 0;  ///< Unix nanoseconds.
  Progress before;
  std::uint64_t salt = 0;  ///< As of `make_scheduler`.
  Reservations under_way;
  std::string region = "global";  ///< The server's own.
};

struct Step {
  /// To be answered; there is nothing else in the step then. Of the scheduler, until it is resumed.
  Question* question = nullptr;

  /// What the decision was made from. Null when there was nothing to decide.
  std::shared_ptr<const DecisionInputs> inputs;

  /// To be verified and written; the scheduler is then resumed with the result. Empty: the end.
  std::optional<Plan> plan;

  /// At the end, what is to be written in one entry before the evaluation is acknowledged. Empty
  /// if the plan took it along.
  std::vector<Object<schema::Evaluation>> evaluations;

  /// Something could not be placed. If that was decided with reservations in the way, the
  /// evaluation is to be started again once they are gone, instead of taking this step.
  bool lacks_room = false;
};

/// What a plugin's scheduler is asked.
class Question {
public:
  virtual ~Question() = default;

  /// `reads` are what it wants to know of nodes, as `${meta.rack}`.
  virtual Object<schema::plugin::Scheduling> make(std::span<const std::string> reads) const = 0;

  /// The step that its decision leads to; once. The error says what of the decision is nonsense.
  virtual Result<Step> answer(const Object<schema::plugin::Decision>& decision) = 0;
};

/// What every attempt gets.
struct Moment {
  const state::Snapshot& state;
  std::int64_t now = 0;                        ///< Unix nanoseconds.
  const Reservations* reservations = nullptr;  ///< Plans under way; may be null.
  std::string_view region = "global";          ///< The server's own; it says what quotas allow.
};

class Scheduler {
public:
  virtual ~Scheduler() = default;

  virtual Step start(const Moment& moment) = 0;

  /// After the plan of the last step was dealt with; `moment.state` is at least as new as
  /// `result.refresh_index`.
  virtual Step resume(const Moment& moment, const PlanResult& result) = 0;

  /// What a step was to be made from that could not be made: `start`, `resume` or an answer has
  /// failed. Else null.
  const std::shared_ptr<const DecisionInputs>& unused_inputs() const { return inputs_; }

  /// For `job plan`: counts by group of the last step, filled also if nothing is to be changed.
  virtual const std::map<std::string, DesiredUpdates, std::less<>>& desired_updates() const = 0;

protected:
  std::shared_ptr<const DecisionInputs> inputs_;  ///< Of the attempt in progress.
};

/// The scheduler for the evaluation's type; null without one, and for "_core".
/// `salt` makes ids and choices others than they would be: for tests, and for dry runs, of which
/// nothing may be what is written later.
std::unique_ptr<Scheduler> make_scheduler(Object<schema::Evaluation> eval, std::uint64_t salt = 0);

/// The decision of `inputs`, made again on the state at their index; null for an unknown type.
std::optional<Step> decide_again(const DecisionInputs& inputs, const state::Snapshot& state);

/// What ids and choices of one attempt are drawn from.
std::uint64_t decision_seed(const DecisionInputs& inputs);

/// What a decision at `moment` is made from.
std::shared_ptr<const DecisionInputs> inputs_of(const Object<schema::Evaluation>& eval,
                                                const Moment& moment,
                                                const Progress& before,
                                                std::uint64_t salt);

}  // namespace nomad::scheduler
