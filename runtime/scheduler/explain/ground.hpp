// Ground: a job on a state, with the same selector that schedulers ask. What explain tells about
// room and scores is what this selector says; and a change that it proposes is tried by making a
// ground of the changed job.
//
// May depend on: runtime/state. One thread at a time; the state and the rows outlive it.
#pragma once

#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/scheduler/placement/eligibility.hpp"
#include "runtime/scheduler/placement/selector.hpp"

namespace nomad::scheduler::explain {

class Ground {
public:
  /// `rows` are all allocations of the job; nothing is known of plans under way. With `without`,
  /// that one of them counts as ended. Quotas are not looked at unless `bind` is called.
  Ground(const state::Snapshot& state,
         Object<schema::Job> job,
         const std::vector<state::AllocRef>& rows,
         const state::AllocRef& without = {});
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  const state::Snapshot& state() const { return state_; }

  const JobSpec& job() const { return job_; }

  const SelectorOptions& options() const { return options_; }

  Proposal& proposal() { return proposal_; }

  Selector& selector() { return selector_; }

  /// Counts on in the quota of the job's namespace, as it is in `region`.
  void bind(std::string_view region);

  /// As the schedulers would: whether the node is to be looked at, may run the group, and has room
  /// for one more; at last with less important jobs out of the way, where that is allowed.
  std::optional<Selection> place_on(const Object<schema::Node>& node,
                                    const GroupSpec& group,
                                    std::string_view alloc_name);

private:
  const state::Snapshot& state_;
  JobSpec job_;
  SelectorOptions options_;
  Random random_{1};  ///< Ports of what is never placed.
  Eligibility eligibility_;
  Proposal proposal_;
  Selector selector_;
};

}  // namespace nomad::scheduler::explain
