// GroupPass: one look at all nodes for one more allocation of a group: which fit and in which
// order, what is against the others, and with which change it would fit.
//
// May depend on: runtime/state. One thread at a time; what it is made of outlives it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/scheduler/explain/changes.hpp"
#include "runtime/scheduler/explain/explain.hpp"
#include "runtime/scheduler/explain/folds.hpp"

namespace nomad::scheduler::explain {

/// What is left of the work that an answer may cost, over all its groups.
class WorkBudget {
public:
  WorkBudget(std::uint64_t most, const std::function<bool()>& goes_on)
      : left_{most}, goes_on_{goes_on} {}

  void spend(std::uint64_t work) { left_ -= std::min(work, left_); }

  /// Asked once for each node.
  bool is_spent();

private:
  std::uint64_t left_;
  std::uint64_t asked_ = 0;
  const std::function<bool()>& goes_on_;
};

class GroupPass {
public:
  GroupPass(const state::Snapshot& state,
            const Object<schema::Job>& job,
            const std::vector<state::AllocRef>& rows,
            const state::AllocRef& without,
            const GroupSpec& group,
            std::string alloc_name,
            const Question& question,
            WorkBudget& budget);

  /// The whole answer but for what waits. `asked` may be empty.
  GroupAnswer answer(const Object<schema::Node>& asked);

  /// Of one node: its rank and score, or all that is against it.
  AskedNode ask(const Object<schema::Node>& node);

  std::size_t fitting() const { return fitting_.size(); }

private:
  /// A node that fits.
  struct Fitting {
    const Object<schema::Node>* node = nullptr;
    double normalized = 0;
    Score score;
    std::size_t preempted = 0;
  };

  /// The job with a change, on which allocations are tried.
  Ground* trial_of(const Change& change);
  void look();
  Candidate candidate(const Fitting& fitting) const;
  NodeClass described(const Fold& fold) const;
  std::vector<std::string> quota_without_room();
  void suggest(const Object<schema::Node>& asked, GroupAnswer& answer);
  void suggest_for(const Object<schema::Node>& asked, std::vector<Suggestion>& out);
  void suggest_for(const Fold& fold, std::vector<Suggestion>& out);
  bool try_change(const Refused& refused,
                  std::span<const ReasonId> against,
                  std::vector<Suggestion>& out);

  const state::Snapshot& state_;
  Object<schema::Job> job_;
  const std::vector<state::AllocRef>& rows_;
  state::AllocRef without_;
  const Question& question_;
  WorkBudget& budget_;
  Ground ground_;
  NodeJudge judge_;
  std::size_t looked_at_ = 0;
  std::vector<Fitting> fitting_;  ///< The best first.
  Folds folds_;
  std::map<std::string, std::unique_ptr<Ground>> trials_;  ///< By the change's text.
};

}  // namespace nomad::scheduler::explain
