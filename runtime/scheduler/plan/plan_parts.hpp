// PlanParts: a plan on its way into the log. One that is too long for a log entry is cut into parts
// that are verified and written one after the other, each as a plan of its own.
//
// A node's changes stay together, unless they alone are too long: then its ends come first, so that
// no part needs more room than there is, and what comes after them has their room; once it refuses
// one, the rest is left. What belongs to the whole plan (deployment, follow-ups,
// the blocked evaluation) goes with the first part that is written, so that nothing names what is
// not there; the evaluation's completion with the last one, if nothing was refused. Whatever
// happens between two parts, the evaluation is still open and the state holds whole parts: who
// works on it next sees them and decides the rest.
//
// May depend on: runtime/state. Pure; owned by the plan applier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "runtime/scheduler/plan/plan.hpp"

namespace nomad::scheduler {

struct PartLimits {
  std::size_t part_bytes = std::size_t{4} << 20;    ///< Of the parts of long plans.
  std::size_t entry_bytes = std::size_t{15} << 20;  ///< Of plans that are all or nothing.
};

class PlanParts {
public:
  explicit PlanParts(std::shared_ptr<const Plan> plan, const PartLimits& limits = {});

  const Plan& whole() const { return *plan_; }

  /// What is to be verified and written next. Not when `is_done`.
  const Plan& next() const { return parts_.empty() ? *plan_ : parts_.front(); }

  bool is_cut() const { return is_cut_; }

  /// Whether a part is over.
  bool has_begun() const { return has_begun_; }

  bool is_done() const { return is_done_; }

  /// The newest index at which the plan knows what became of its evaluation: its snapshot's, or
  /// that of its last written part.
  std::uint64_t known_index() const { return known_index_; }

  /// `next` has come to `result`, and is over.
  void settle(const PlanResult& result);

  /// What became of all that is over.
  const PlanResult& result() const { return result_; }

private:
  void drop_nodes(const PlanResult& result);
  void pass_on(Plan& refused);

  std::shared_ptr<const Plan> plan_;
  std::deque<Plan> parts_;  ///< That are not over; empty for a plan that is not cut.
  PlanResult result_;
  std::uint64_t known_index_ = 0;
  bool is_cut_ = false;
  bool has_begun_ = false;
  bool is_done_ = false;
};

}  // namespace nomad::scheduler
