#include "runtime/host/cgroup/cgroup_plan.hpp"

#include <algorithm>

namespace nomad::host {

namespace {

Error lacks(const char* controller) {
  return {Errc::unavailable,
          "the task's limits can't be kept: there is no control group with the "
          "controller "
              + std::string{controller}};
}

void plan_memory(const CgroupScope& scope,
                 const CgroupLimits& limits,
                 std::vector<GroupFile>& files) {
  const auto add = [&](const char* name, std::uint64_t bytes) {
    if (bytes != 0) files.push_back({scope.memory + name, std::to_string(bytes)});
  };
  if (scope.memory_is_v2) {
    add("/memory.low", limits.memory_soft_bytes);
    add("/memory.max", limits.memory_bytes);
    return;
  }
  add("/memory.limit_in_bytes", limits.memory_bytes);
  add("/memory.soft_limit_in_bytes", limits.memory_soft_bytes);
  // What is over the limit is not to be swapped out instead.
  if (limits.memory_bytes != 0) files.push_back({scope.memory + "/memory.swappiness", "0", true});
}

}  // namespace

std::uint64_t weight_of_shares(std::uint64_t shares) {
  return 1 + (std::clamp<std::uint64_t>(shares, 2, 262144) - 2) * 9999 / 262142;
}

Result<std::vector<GroupFile>> plan_limits(const CgroupScope& scope, const CgroupLimits& limits) {
  std::vector<GroupFile> files;
  if (limits.memory_bytes != 0 || limits.memory_soft_bytes != 0) {
    if (scope.memory.empty()) return lacks("memory");
    plan_memory(scope, limits, files);
  }
  if (limits.cpu_shares != 0) {
    if (scope.shares.empty()) return lacks("cpu");
    files.push_back(
        scope.shares_are_weights
            ? GroupFile{scope.shares + "/cpu.weight",
                        std::to_string(weight_of_shares(limits.cpu_shares))}
            : GroupFile{scope.shares + "/cpu.shares", std::to_string(limits.cpu_shares)});
  }
  if (limits.pids != 0) {
    if (scope.pids.empty()) return lacks("pids");
    files.push_back({scope.pids + "/pids.max", std::to_string(limits.pids)});
  }
  return files;
}

}  // namespace nomad::host
