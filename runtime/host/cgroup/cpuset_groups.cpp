#include "runtime/host/cgroup/cpuset_groups.hpp"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "runtime/base/text.hpp"
#include "runtime/host/cgroup/cgroup.hpp"
#include "runtime/host/cgroup/cgroup_files.hpp"
#include "runtime/host/process/process_id.hpp"

namespace nomad::host {

namespace {

/// Where the controller is mounted by itself; empty: nowhere.
std::string cpuset_mount_v1(const CgroupMounts& mounts) {
  for (const auto& [controller, mount] : mounts.controllers)
    if (controller == "cpuset") return mount;
  return {};
}

bool has_cpuset_v2(const std::string& group) {
  const std::string text = read_proc_file(group + "/cgroup.controllers");
  const auto controllers = split(trim(text), ' ');
  return std::ranges::find(controllers, "cpuset") != controllers.end();
}

}  // namespace

std::string parent_group(const std::string& configured, bool of_v2) {
  if (configured.empty()) return of_v2 ? "nomad.slice" : "nomad";
  std::string name = configured;
  return name.erase(0, name.find_first_not_of('/'));
}

Result<> check_cpuset(const CgroupMounts& mounts, const std::string& root) {
  const bool is_v2 = mounts.version == CgroupMounts::Version::v2;
  const std::string mount = is_v2 ? mounts.unified : cpuset_mount_v1(mounts);
  if (mount.empty() || (is_v2 && !has_cpuset_v2(root + mount)))
    return Error{Errc::unavailable, "the controller cpuset is not there"};
  if (::access((root + mount + "/cgroup.procs").c_str(), W_OK) != 0)
    return errno_error("writing below " + mount, errno, Errc::unavailable);
  return {};
}

Result<> make_cpuset_v1(const std::string& path, std::string_view cpus) {
  NOMAD_TRY(make_group(path));
  const auto parent = path.substr(0, path.rfind('/'));
  for (const std::string file : {"/cpuset.mems", "/cpuset.cpus"}) {
    if (!trim(read_proc_file(path + file)).empty()) continue;
    NOMAD_TRY(write_group_file(path + file, trim(read_proc_file(parent + file))));
  }
  if (!cpus.empty()) NOMAD_TRY(write_group_file(path + "/cpuset.cpus", cpus));
  return {};
}

Result<CpusetGroups> make_cpuset_groups(const CgroupMounts& mounts, const std::string& parent) {
  NOMAD_TRY(check_cpuset(mounts));
  if (mounts.version != CgroupMounts::Version::v2) {
    const auto top = cpuset_mount_v1(mounts) + '/' + parent_group(parent, false);
    CpusetGroups groups{.shared = top + "/shared", .reserved = top + "/reserved"};
    for (const auto& path : {top, groups.shared, groups.reserved})
      NOMAD_TRY(make_cpuset_v1(path, ""));
    return groups;
  }
  const auto top = mounts.unified + '/' + parent_group(parent, true);
  hand_down(mounts.unified);
  NOMAD_TRY(make_group(top));
  hand_down(top);
  CpusetGroups groups{.shared = top + "/share.slice", .reserved = top + "/reserve.slice"};
  for (const auto& path : {groups.shared, groups.reserved}) {
    NOMAD_TRY(make_group(path));
    if (!has_cpuset_v2(path))
      return Error{Errc::unavailable, "the controller cpuset is not handed down to " + path};
    hand_down(path);
  }
  return groups;
}

Result<> share_cpus(const std::string& parent, std::string_view cpus) {
  const auto mounts = parse_cgroup_mounts(read_proc_file("/proc/self/mountinfo"));
  const auto groups = NOMAD_TRY(make_cpuset_groups(mounts, parent));
  return write_group_file(groups.shared + "/cpuset.cpus", cpus);
}

}  // namespace nomad::host
