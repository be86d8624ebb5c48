// LogJudges: the log, applied once more from its begin, and what its judges say of each entry.
#pragma once

#include <set>
#include <string>

#include "runtime/state/store.hpp"
#include "test/simulation/drain/drain_judge.hpp"
#include "test/simulation/log/plan_judge.hpp"

namespace nomad::test {

class LogJudges {
public:
  /// Operators have asked for the promotion of the deployments `wanted`.
  explicit LogJudges(const std::set<std::string>& wanted) : plans{wanted} {}

  /// Takes the next entry. What is wrong with it; "" if nothing is.
  std::string take(raft::Index index, const raft::Bytes& entry);

  /// Whether an entry that was taken has changed nothing because its guard did not hold.
  bool is_stale(raft::Index index) const { return stale_.contains(index); }

  /// The last that was taken.
  raft::Index judged() const { return judged_; }

  DrainJudge drains;
  PlanJudge plans;

private:
  state::Store store_;
  raft::Index judged_ = 0;
  std::set<raft::Index> stale_;
};

}  // namespace nomad::test
