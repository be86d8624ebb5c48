// Jobs of several regions: what each region gets of one, the deployment that waits for the others,
// and the order in which regions roll it out. Deciding code, for a coordinator to carry out: until
// there is one, jobs whose block names regions are refused (jobspec/validate).
//
// A deployment of such a job is made with its version, `initializing`; the first evaluation works
// out its groups and has it wait, `pending`. Only from there a coordinator may move it, for before
// that the plan would overwrite what it writes.
// May depend on: runtime/base, object, state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/object/object.hpp"
#include "schema/deployment.capnp.h"
#include "schema/job.capnp.h"

namespace nomad::cluster {

struct RegionBlock {
  std::string name;
  std::int64_t count = 0;  ///< Of groups whose own count is 0.
  std::vector<std::string> datacenters{};
  std::string node_pool{};
  std::map<std::string, std::string> meta{};
};

struct MultiregionBlock {
  std::int64_t max_parallel = 0;  ///< Regions that roll out at a time; 0: all.
  std::string on_failure;         ///< "", "fail_all" or "fail_local".
  std::vector<RegionBlock> regions;
};

/// The job's block; without regions if it has none. `corrupt` if it can't be read.
Result<MultiregionBlock> multiregion_of(schema::Job::Reader job);

/// The job as `region` stores it.
Object<schema::Job> region_copy(const Object<schema::Job>& job, const RegionBlock& region);

/// The regions of `before` that `now` doesn't name any more, in their order: the job goes there.
std::vector<std::string> dropped_regions(const MultiregionBlock& before,
                                         const MultiregionBlock& now);

/// Whether versions of the job are rolled out by deployments.
bool has_deployments(schema::Job::Reader job);

/// The deployment that a new version of a job of several regions comes with; empty for others, and
/// for what has no deployments. The log adds the version and its indexes.
Object<schema::Deployment> first_deployment(schema::Job::Reader job,
                                            std::int64_t eval_priority,
                                            Random& random);

/// How far a region is; no status: it has not accepted the job yet.
struct RegionState {
  std::string region;
  std::optional<schema::DeploymentState> status;
};

/// A status that a region's deployment is to take.
struct RegionMove {
  std::string region;
  schema::DeploymentState status;
  std::string_view description;

  friend bool operator==(const RegionMove&, const RegionMove&) = default;
};

/// What follows for the regions, which are in the order of the block: who may start, who fails with
/// another, who is done because all are. Repeated on the states that follow until it says nothing.
std::vector<RegionMove> next_moves(const MultiregionBlock& block,
                                   const std::vector<RegionState>& regions);

}  // namespace nomad::cluster
