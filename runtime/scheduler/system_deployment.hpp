// SystemDeployment: how a version of a system job comes to the nodes where its groups have an
// update block with canaries or a way back. A deployment tells of it: canaries on a share of the
// nodes first, then so many nodes at a time, the next ones when those before are healthy. A group
// without such a block, a sysbatch job, and what is out of date after the deployment's end are none
// of its business.
//
// Unlike in a service's deployment a canary takes the place of the old allocation of its node, so
// there are never two; and what is missing on a node comes at once, canaries or not.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/scheduler/reconcile/deployment_draft.hpp"
#include "runtime/scheduler/reconcile/reconcile.hpp"

namespace nomad::scheduler {

/// What an evaluation finds of a group, in nodes.
struct SystemGroupNews {
  std::size_t destructive = 0;
  std::size_t in_place = 0;
  std::size_t missing = 0;
};

/// How many of the outdated allocations of a group are replaced now.
struct SystemWave {
  std::size_t canaries = 0;
  std::size_t others = 0;
};

class SystemDeployment {
public:
  /// `job` is null when it is purged; `latest` is its newest deployment, empty if it has none.
  SystemDeployment(const JobSpec* job,
                   const std::vector<AllocEntry>& allocs,
                   const Object<schema::Deployment>& latest);

  /// Begins a deployment if there is something to bring out and this version has had none.
  void begin(const std::map<std::string_view, SystemGroupNews>& news, Random& random);

  using Ended = std::set<const AllocEntry*>;

  /// Of the group's deployment; nothing if it has none, and updates go their old way. `ended`: by
  /// this evaluation.
  std::optional<SystemWave> wave(std::string_view group, const Ended& ended) const;

  /// The deployment that new rows of the group belong to; empty: none.
  std::string_view deployment_of(std::string_view group) const;

  /// Whether an allocation that ended is the deployment's watcher's to judge first.
  bool awaits_verdict(const AllocEntry& ended) const;

  /// What the evaluation comes to.
  struct End {
    /// On how many nodes each group is, or is going to be.
    std::map<std::string_view, std::int64_t> totals;
    Ended ended;
    bool is_settled = false;  ///< It changes nothing, and nothing is out of date.
  };

  /// Writes a new deployment, or the end of the one that is done, into the plan.
  void finish(const End& end, std::int64_t eval_priority, Plan& plan);

private:
  const DeploymentGroupDraft* state_of(std::string_view group) const;
  bool is_active() const;
  bool is_complete(const End& end) const;
  std::vector<const AllocEntry*> live(std::string_view group, const Ended& ended) const;
  std::size_t budget(const GroupSpec& group, const Ended& ended) const;
  bool ran_before(std::string_view group) const;

  const JobSpec* job_;
  const std::vector<AllocEntry>& allocs_;
  std::optional<DeploymentDraft> current_;  ///< Of this version.
  bool is_new_ = false;
  bool has_succeeded_ = false;  ///< This version's is over, and all was well.
  std::vector<DeploymentChange> changes_;
};

}  // namespace nomad::scheduler
