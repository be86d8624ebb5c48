#include "runtime/host/cgroup/cgroup.hpp"

#include <algorithm>
#include <cerrno>

#include <signal.h>
#include <unistd.h>

#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"
#include "runtime/host/cgroup/cgroup_files.hpp"
#include "runtime/host/cgroup/cgroup_plan.hpp"
#include "runtime/host/process/process_id.hpp"

namespace nomad::host {

namespace {

std::vector<pid_t> read_processes(const std::string& directory) {
  std::vector<pid_t> pids;
  std::string text = read_proc_file(directory + "/cgroup.procs");
  for (std::string_view line : split(text, '\n'))
    if (const auto pid = whole_number<pid_t>(line); pid && *pid > 0) pids.push_back(*pid);
  return pids;
}

bool has_file(const std::string& directory, const char* name) {
  return ::access((directory + name).c_str(), F_OK) == 0;
}

}  // namespace

CgroupMounts parse_cgroup_mounts(std::string_view mountinfo) {
  CgroupMounts mounts;
  for (std::string_view line : split(mountinfo, '\n')) {
    std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    auto before = split(line.substr(0, dash), ' ');
    auto after = split(line.substr(dash + 3), ' ');
    if (before.size() < 6 || after.size() < 3) continue;
    std::string mount{before[4]};
    if (after[0] == "cgroup2") {
      if (mounts.unified.empty()) mounts.unified = mount;
    } else if (after[0] == "cgroup") {
      if (mounts.first.empty()) mounts.first = mount;
      for (std::string_view option : split(after[2], ',')) {
        for (std::string_view known : {"memory", "cpu", "cpuacct", "cpuset", "pids", "freezer"}) {
          if (option == known) mounts.controllers.emplace_back(std::string{option}, mount);
        }
      }
    }
  }
  using Version = CgroupMounts::Version;
  bool v1 = !mounts.first.empty(), v2 = !mounts.unified.empty();
  mounts.version = v1 ? (v2 ? Version::hybrid : Version::v1) : (v2 ? Version::v2 : Version::none);
  if (!v1) mounts.first = mounts.unified;
  return mounts;
}

Cgroups Cgroups::open(const Options& options) {
  Cgroups cgroups;
  cgroups.mounts_ = parse_cgroup_mounts(read_proc_file(options.mountinfo));
  if (!options.enabled) return cgroups;
  const std::string parent_v1 = parent_group(options.parent, false);
  const std::string parent_v2 = parent_group(options.parent, true);
  std::string problem = cgroups.mounts_.version == CgroupMounts::Version::none
                            ? "no cgroup file system is mounted"
                            : std::string{};
  auto prepare = [&problem](const std::string& path) {
    auto made = make_group(path);
    if (made.has_error() && problem.empty()) problem = made.error().what;
    // The file tells whether we may also put processes there.
    if (!made.has_error() && ::access((path + "/cgroup.procs").c_str(), W_OK) == 0) return true;
    if (problem.empty()) problem = path + " is not writable";
    return false;
  };
  if (!cgroups.mounts_.unified.empty()) {
    std::string path = cgroups.mounts_.unified + '/' + parent_v2;
    if (cgroups.mounts_.version == CgroupMounts::Version::v2) hand_down(cgroups.mounts_.unified);
    if (prepare(path)) {
      if (cgroups.mounts_.version == CgroupMounts::Version::v2) hand_down(path);
      cgroups.unified_ = path;
    }
  }
  for (const auto& [controller, mount] : cgroups.mounts_.controllers) {
    // Memory gives usage and out-of-memory kills; pids keeps a list where there is no version 2.
    bool wanted = controller == "memory" || (controller == "cpu" && options.limits)
                  || (controller == "pids" && (options.limits || cgroups.unified_.empty()));
    const std::string path = mount + '/' + parent_v1;
    if (wanted && std::ranges::find(cgroups.controllers_v1_, path) == cgroups.controllers_v1_.end()
        && prepare(path))
      cgroups.controllers_v1_.push_back(path);
  }
  cgroups.available_ = !cgroups.unified_.empty() || !cgroups.controllers_v1_.empty();
  if (!cgroups.available_) {
    log::warn("client.cgroup", "tasks run without cgroups, by process groups only",
              {{"error", problem}});
    return cgroups;
  }
  // Who shares out the processors tells users when it can't.
  if (auto made = make_cpuset_groups(cgroups.mounts_, options.parent))
    cgroups.cpusets_ = std::move(*made);
  return cgroups;
}

CgroupScope Cgroups::find(std::string_view key) const {
  CgroupScope scope;
  std::string name{key};
  // Directly in the parent is where releases without cpusets had them.
  for (const char* slice : {"/share.slice/", "/reserve.slice/", "/"}) {
    const std::string directory = unified_ + slice + name + ".scope";
    if (unified_.empty() || !is_directory(directory)) continue;
    scope.unified = directory;
    break;
  }
  if (!scope.unified.empty()) {
    scope.directories.push_back(scope.unified);
    scope.cpu = scope.unified;
    scope.cpu_is_v2 = true;
    scope.memory_is_v2 = has_file(scope.unified, "/memory.current");
    if (scope.memory_is_v2) scope.memory = scope.unified;
    scope.shares_are_weights = has_file(scope.unified, "/cpu.weight");
    if (scope.shares_are_weights) scope.shares = scope.unified;
    if (has_file(scope.unified, "/pids.max")) scope.pids = scope.unified;
  }
  for (const std::string& parent : controllers_v1_) {
    std::string directory = parent + '/' + name;
    if (!is_directory(directory)) continue;
    scope.directories.push_back(directory);
    if (has_file(directory, "/memory.usage_in_bytes")) scope.memory = directory;
    if (has_file(directory, "/cpu.shares")) scope.shares = directory;
    if (has_file(directory, "/pids.max")) scope.pids = directory;
  }
  if (const auto own = cpusets_.reserved + '/' + name; holds_by_v1() && is_directory(own))
    scope.directories.push_back(own);
  return scope;
}

bool Cgroups::holds_by_v1() const {
  return !cpusets_.shared.empty() && mounts_.version != CgroupMounts::Version::v2;
}

Result<> Cgroups::make_directories(const std::string& name, const CgroupLimits& limits) const {
  if (!unified_.empty()) {
    std::string parent = unified_;
    if (!cpusets_.shared.empty() && !holds_by_v1())
      parent = limits.cpus.empty() ? cpusets_.shared : cpusets_.reserved;
    NOMAD_TRY(make_group(parent + '/' + name + ".scope"));
  }
  for (const std::string& parent : controllers_v1_)
    NOMAD_TRY(make_group(parent + '/' + name));
  if (holds_by_v1() && !limits.cpus.empty())
    NOMAD_TRY(make_cpuset_v1(cpusets_.reserved + '/' + name, limits.cpus));
  return {};
}

Result<CgroupScope> Cgroups::create(std::string_view key, const CgroupLimits& limits) const {
  if (!available_) return CgroupScope{};
  NOMAD_TRY(make_directories(std::string{key}, limits));
  CgroupScope scope = find(key);
  if (holds_by_v1() && limits.cpus.empty()) scope.shared = cpusets_.shared;
  for (const auto& file : NOMAD_TRY(plan_limits(scope, limits)))
    if (auto written = write_group_file(file.path, file.text); !written && !file.may_fail)
      return written.error();
  if (!limits.cpus.empty() && !cpusets_.shared.empty() && !holds_by_v1())
    NOMAD_TRY(write_group_file(scope.unified + "/cpuset.cpus", limits.cpus));
  return scope;
}

std::string Cgroups::lacking() const {
  std::string text = read_proc_file(unified_ + "/cgroup.controllers");
  const auto handed_down = split(trim(text), ' ');
  std::string missing;
  for (const char* controller : {"memory", "cpu", "pids"}) {
    const bool has_v1 = std::ranges::any_of(mounts_.controllers, [&](const auto& mount) {
      return mount.first == controller
             && std::ranges::any_of(controllers_v1_, [&](const std::string& path) {
                  return path.starts_with(mount.second + '/');
                });
    });
    if (has_v1 || std::ranges::find(handed_down, controller) != handed_down.end()) continue;
    if (!missing.empty()) missing += ", ";
    missing += controller;
  }
  return missing;
}

std::vector<pid_t> Cgroups::processes(const CgroupScope& scope) {
  std::vector<pid_t> pids;
  for (const std::string& directory : scope.directories) {
    for (pid_t pid : read_processes(directory))
      pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

void Cgroups::kill(const CgroupScope& scope) {
  if (!scope.unified.empty()) {
    // Kernels before 5.14 lack the file; then each process is killed as on version 1.
    if (!write_group_file(scope.unified + "/cgroup.kill", "1").has_error()
        && scope.directories.size() == 1)
      return;
  }
  for (pid_t pid : processes(scope))
    ::kill(pid, SIGKILL);
}

Result<> Cgroups::remove(const CgroupScope& scope) {
  Result<> outcome;
  for (const std::string& directory : scope.directories) {
    if (::rmdir(directory.c_str()) == 0 || errno == ENOENT || outcome.has_error()) continue;
    outcome = errno_error("removing the cgroup " + directory, errno,
                          errno == EBUSY ? Errc::conflict : Errc::io);
  }
  return outcome;
}

}  // namespace nomad::host
