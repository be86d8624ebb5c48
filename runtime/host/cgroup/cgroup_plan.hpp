// What is written into which files of a task's control groups, so that it keeps to its limits.
// Pure; Cgroups writes it.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/cgroup/cgroup.hpp"

namespace nomad::host {

struct GroupFile {
  std::string path;
  std::string text;
  bool may_fail = false;  ///< Kernels may not have it, or not let it be written.

  friend bool operator==(const GroupFile&, const GroupFile&) = default;
};

/// The weight of version 2 (1 to 10,000) for shares of version 1 (2 to 262,144), as all container
/// runtimes have it.
std::uint64_t weight_of_shares(std::uint64_t shares);

/// In the order in which they have to be written. `unavailable` when a limit is wanted for which
/// the scope has no controller.
Result<std::vector<GroupFile>> plan_limits(const CgroupScope& scope, const CgroupLimits& limits);

}  // namespace nomad::host
