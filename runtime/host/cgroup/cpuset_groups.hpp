// The control groups by which tasks are held to processors: one of all tasks that have no cores of
// their own, whose list changes as cores are reserved and given back, and one for each task that
// has. Who is where follows from the task alone and never changes while it runs, so after a crash
// of the agent both are as they were.
//
//   v2          <mount>/nomad.slice/share.slice/<key>.scope and …/reserve.slice/<key>.scope, which
//               are the tasks' scopes as a whole
//   v1, hybrid  <cpuset mount>/nomad/shared and <cpuset mount>/nomad/reserved/<key>
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::host {

struct CgroupMounts;

struct CpusetGroups {
  std::string shared{};    ///< Directory of the one for all tasks without cores.
  std::string reserved{};  ///< The directory in which those with cores have theirs.
};

/// The name of the groups' parent below the mount of a version 2, or else 1; `configured` as
/// Cgroups::Options::parent.
std::string parent_group(const std::string& configured, bool of_v2);

/// Whether the agent may hold tasks to processors: `unavailable` with the reason if not. Makes
/// nothing. Paths are below `root`.
Result<> check_cpuset(const CgroupMounts& mounts, const std::string& root = {});

/// Makes them, or finds them. New ones have the processors of their parent.
Result<CpusetGroups> make_cpuset_groups(const CgroupMounts& mounts, const std::string& parent);

/// Makes the group `path` with the processors `cpus`, or its parent's (empty) if it has none yet.
/// Version 1, whose new groups take no process before they were given some.
Result<> make_cpuset_v1(const std::string& path, std::string_view cpus);

/// Lets all tasks without cores run on `cpus` ("0,2-3"), those that run included. `parent` as
/// Cgroups::Options::parent. Blocks for milliseconds; any thread, one at a time.
Result<> share_cpus(const std::string& parent, std::string_view cpus);

}  // namespace nomad::host
