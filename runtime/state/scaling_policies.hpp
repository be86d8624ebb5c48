// The scaling policies of jobs. A policy stands in its group of the job; that it can be listed and
// found by its id is derived from there. Private to this folder.
#pragma once

#include <string>

#include "runtime/object/draft.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state {

/// Gives the policies of a job that is being stored their ids and indexes: those of `existing`'s
/// policy of the same group and type, or new ones. The id of a new one follows from what it is and
/// from `index`, so that it is the same on all servers.
void name_policies(schema::Job::Builder job, const Object<schema::Job>& existing, Index index);

/// Calls `use` with each policy of the job, complete as it is listed. Children of periodic and
/// parameterized jobs have their parent's blocks, and no policies.
template <class Use>
void each_policy(schema::Job::Reader job, Use use);

/// Lists the policies of `job` in place of those of `before`; either may be empty. Answers whether
/// that changed anything. `changed` is called with the id of each that did.
template <class Changed>
bool replace_policies(Tables& tables,
                      const Object<schema::Job>& before,
                      const Object<schema::Job>& job,
                      Changed changed);

/// One that was stored before policies had ids gets what it would have had.
Object<schema::ScalingPolicy> complete_policy(schema::ScalingPolicy::Reader policy,
                                              schema::Job::Reader job,
                                              std::string_view group);

/// "namespace\0job id\0policy id", by which those of a job are found.
std::string policy_job_key(schema::Job::Reader job, std::string_view policy_id);

template <class Use>
void each_policy(schema::Job::Reader job, Use use) {
  if (job.getParentId().size() != 0) return;
  for (const auto group : job.getTaskGroups())
    if (group.hasScaling()) use(complete_policy(group.getScaling(), job, view(group.getName())));
}

template <class Changed>
bool replace_policies(Tables& tables,
                      const Object<schema::Job>& before,
                      const Object<schema::Job>& job,
                      Changed changed) {
  bool any = false;
  const auto note = [&](std::string_view id) {
    any = true;
    changed(id);
  };
  std::vector<std::string> gone;
  if (before)
    each_policy(*before, [&](const auto& policy) { gone.push_back(copy(policy->getId())); });
  if (job)
    each_policy(*job, [&](const Object<schema::ScalingPolicy>& policy) {
      const auto id = view(policy->getId());
      std::erase(gone, id);
      const auto* known = tables.scaling_policies.find(id);
      if (known != nullptr && (*known)->getModifyIndex() == policy->getModifyIndex()) return;
      tables.scaling_policies.insert_or_assign(id, policy);
      tables.scaling_policies_by_job.insert_or_assign(policy_job_key(*job, id), policy);
      note(id);
    });
  for (const auto& id : gone) {
    tables.scaling_policies.erase(id);
    tables.scaling_policies_by_job.erase(policy_job_key(*before, id));
    note(id);
  }
  return any;
}

}  // namespace nomad::state
