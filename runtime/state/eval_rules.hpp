// Which evaluations an operator may have forgotten. Judged where the deletion is decided on, and
// again where it is applied, for allocations are placed and start meanwhile.
//
// May depend on: runtime/base, object, query. Pure. Source: Nomad's EvalIsUserDeleteSafe.
#pragma once

#include <string>

#include "runtime/base/result.hpp"
#include "runtime/object/object.hpp"
#include "runtime/query/filter.hpp"
#include "schema/eval.capnp.h"
#include "schema/job.capnp.h"

namespace nomad::state {

struct Tables;

/// Judges evaluations of one state. Quick for those of one job that come one after the other.
class EvalDeletionJudge {
public:
  /// Keeps a reference.
  explicit EvalDeletionJudge(const Tables& tables) : tables_{tables} {}

  /// False while an allocation of the evaluation runs or may run, or has failed and its replacement
  /// has to know of it; unless the job is over.
  bool is_safe(schema::Evaluation::Reader eval);

  /// Whether a deletion by filter takes the evaluation: one that the expression cannot be asked of
  /// stays. `too_large`: it takes more work than `work` has.
  Result<bool> takes(const query::Filter& filter, schema::Evaluation::Reader eval, Work& work);

private:
  void look_at_job(schema::Evaluation::Reader eval);

  const Tables& tables_;
  std::string job_key_;      ///< Of the job that was looked at last.
  Object<schema::Job> job_;  ///< Empty: it has no say, for it is over or gone.
  bool has_allocs_ = false;
};

/// Deletions are refused unless the eval broker is paused: no scheduler may be at work on what
/// goes.
Result<> check_broker_is_paused(const Tables& tables);

/// That of a deletion that names an evaluation which is not safe to delete.
Error not_safe_to_delete(std::string_view eval_id);

}  // namespace nomad::state
