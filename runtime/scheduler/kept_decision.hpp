// KeptDecision: what a decision was made from, as bytes that are kept, and back: so that the
// decision can be made again (`decide_again`) by whoever has the state at its index.
//
// The plans under way are not kept with each decision that saw them, but with the decision that
// each came of: of it, what it takes of nodes. Allocations' resources are all that is kept of jobs.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/object/object.hpp"
#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "schema/decision.capnp.h"
#include "schema/scheduling.capnp.h"

namespace nomad::scheduler {

/// One decision, by whoever had it made.
struct Decided {
  std::uint64_t number = 0;
  std::shared_ptr<const DecisionInputs> inputs;  ///< Not null.
  std::shared_ptr<const Plan> plan = nullptr;    ///< Null: it came to none.
  Object<schema::plugin::Decision> answer = {};  ///< Of a plugin; empty: none was asked.
  bool lacks_room = false;
  std::string failure = {};  ///< It could not be made, and why.
};

/// What became of the plan of decision `number`.
struct PlanEnded {
  std::uint64_t number = 0;
  PlanResult result = {};
  std::string failure = {};  ///< There is no result, and why.
};

Object<schema::KeptDecision> keep_decision(const Decided& decided);

/// The first sixteen refusals are told one by one.
Object<schema::PlanEnd> keep_plan_end(const PlanEnded& ended);

/// The decision of that number; empty if it is not kept.
using FindDecision = std::function<Result<Object<schema::KeptDecision>>(std::uint64_t number)>;

/// `decide_again` makes of these what it made of those that were kept; a plugin's scheduler asks
/// its question again, and is told the kept answer. `missing`: a plan that was under way is not
/// kept; `corrupt`: the bytes are none of ours.
Result<DecisionInputs> inputs_of_kept(const Object<schema::KeptDecision>& kept,
                                      const FindDecision& find);

}  // namespace nomad::scheduler
