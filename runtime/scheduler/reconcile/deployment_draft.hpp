// DeploymentDraft: a deployment while the reconciler works on it.
//
// May depend on: runtime/object.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/object/object.hpp"
#include "schema/deployment.capnp.h"
#include "schema/job.capnp.h"

namespace nomad::scheduler {

struct DeploymentGroupDraft {
  bool auto_revert = false;
  bool auto_promote = false;
  std::int64_t progress_deadline = 0;
  std::int64_t require_progress_by = 0;
  bool promoted = false;
  std::vector<std::string> placed_canaries;
  std::int64_t desired_canaries = 0;
  std::int64_t desired_total = 0;
  std::int64_t placed_allocs = 0;
  std::int64_t healthy_allocs = 0;
  std::int64_t unhealthy_allocs = 0;
};

struct DeploymentDraft {
  std::string id;
  schema::DeploymentState status = schema::DeploymentState::RUNNING;
  std::string description;
  bool is_multiregion = false;
  std::map<std::string, DeploymentGroupDraft, std::less<>> groups;

  static DeploymentDraft read(schema::Deployment::Reader deployment);

  /// Whether some group has canaries that were not promoted.
  bool requires_promotion() const;

  /// Whether all groups with canaries promote them by themselves.
  bool promotes_automatically() const;

  /// The object, for the version of `job` that it rolls out.
  Object<schema::Deployment> freeze(schema::Job::Reader job, std::int64_t eval_priority) const;
};

/// Not yet successful, failed or cancelled.
bool is_active(schema::DeploymentState status);

}  // namespace nomad::scheduler
