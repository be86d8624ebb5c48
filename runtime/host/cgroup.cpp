#include "runtime/host/cgroup.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"
#include "runtime/host/process/process_id.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

namespace {

bool is_directory(const std::string& path) {
  struct stat status {};

  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<> write_file(const std::string& path, std::string_view text) {
  UniqueFd file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (!file || ::write(file.get(), text.data(), text.size()) < 0)
    return errno_error("writing " + path, errno);
  return {};
}

Result<> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return errno_error("making the cgroup " + path, errno);
  return {};
}

// A child group has only those controllers that its parent hands down; what is not there, or not
// allowed, shows when a limit is written.
void hand_down(const std::string& group) {
  for (std::string_view controller : {"cpuset", "cpu", "io", "memory", "pids"}) {
    UniqueFd file{::open((group + "/cgroup.subtree_control").c_str(), O_WRONLY | O_CLOEXEC)};
    std::string order = "+" + std::string{controller};
    if (file && ::write(file.get(), order.data(), order.size()) < 0)
      log::debug("client.cgroup", "{}: controller {} is not available", group, controller);
  }
}

std::vector<pid_t> read_processes(const std::string& directory) {
  std::vector<pid_t> pids;
  std::string text = read_proc_file(directory + "/cgroup.procs");
  for (std::string_view line : split(text, '\n')) {
    pid_t pid = 0;
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
    if (error == std::errc{} && end == line.data() + line.size() && pid > 0) pids.push_back(pid);
  }
  return pids;
}

Result<> write_limits_v2(const CgroupScope& scope, const CgroupLimits& limits) {
  auto set = [&](const char* file, const std::string& value) {
    return write_file(scope.unified + '/' + file, value);
  };
  if (limits.memory_bytes != 0) NOMAD_TRY(set("memory.max", std::to_string(limits.memory_bytes)));
  if (limits.memory_soft_bytes != 0)
    NOMAD_TRY(set("memory.low", std::to_string(limits.memory_soft_bytes)));
  if (limits.cpu_shares != 0) {
    // The usual conversion of 2..262144 shares to a weight of 1..10000.
    std::uint64_t shares = std::clamp<std::uint64_t>(limits.cpu_shares, 2, 262144);
    NOMAD_TRY(set("cpu.weight", std::to_string(1 + (shares - 2) * 9999 / 262142)));
  }
  if (limits.pids != 0) NOMAD_TRY(set("pids.max", std::to_string(limits.pids)));
  if (!limits.cpus.empty()) NOMAD_TRY(set("cpuset.cpus", limits.cpus));
  return {};
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
  cgroups.parent_v2_ = options.parent.empty() ? "nomad.slice" : options.parent;
  cgroups.parent_v1_ = options.parent.empty() ? "nomad" : options.parent;
  for (std::string* parent : {&cgroups.parent_v1_, &cgroups.parent_v2_})
    parent->erase(0, parent->find_first_not_of('/'));

  std::string problem = cgroups.mounts_.version == CgroupMounts::Version::none
                            ? "no cgroup file system is mounted"
                            : std::string{};
  auto prepare = [&problem](const std::string& path) {
    auto made = make_directory(path);
    if (made.has_error() && problem.empty()) problem = made.error().what;
    // The file tells whether we may also put processes there.
    if (!made.has_error() && ::access((path + "/cgroup.procs").c_str(), W_OK) == 0) return true;
    if (problem.empty()) problem = path + " is not writable";
    return false;
  };
  if (!cgroups.mounts_.unified.empty()) {
    std::string path = cgroups.mounts_.unified + '/' + cgroups.parent_v2_;
    if (cgroups.mounts_.version == CgroupMounts::Version::v2) hand_down(cgroups.mounts_.unified);
    if (prepare(path)) {
      if (cgroups.mounts_.version == CgroupMounts::Version::v2) hand_down(path);
      cgroups.unified_ = path;
    }
  }
  for (const auto& [controller, mount] : cgroups.mounts_.controllers) {
    // Memory gives usage and out-of-memory kills; pids keeps a list where there is no version 2.
    bool wanted = controller == "memory" || (controller == "pids" && cgroups.unified_.empty());
    if (wanted && prepare(mount + '/' + cgroups.parent_v1_))
      cgroups.controllers_v1_.push_back(mount + '/' + cgroups.parent_v1_);
  }
  cgroups.available_ = !cgroups.unified_.empty() || !cgroups.controllers_v1_.empty();
  if (!cgroups.available_) {
    log::warn("client.cgroup", "tasks run without cgroups, by process groups only: {}", problem);
  }
  return cgroups;
}

CgroupScope Cgroups::find(std::string_view key) const {
  CgroupScope scope;
  std::string name{key};
  if (!unified_.empty() && is_directory(unified_ + '/' + name + ".scope")) {
    scope.unified = unified_ + '/' + name + ".scope";
    scope.directories.push_back(scope.unified);
    scope.cpu = scope.unified;
    scope.cpu_is_v2 = true;
    if (::access((scope.unified + "/memory.current").c_str(), F_OK) == 0) {
      scope.memory = scope.unified;
      scope.memory_is_v2 = true;
    }
  }
  for (const std::string& parent : controllers_v1_) {
    std::string directory = parent + '/' + name;
    if (!is_directory(directory)) continue;
    scope.directories.push_back(directory);
    if (::access((directory + "/memory.usage_in_bytes").c_str(), F_OK) == 0)
      scope.memory = directory;
  }
  return scope;
}

Result<CgroupScope> Cgroups::create(std::string_view key, const CgroupLimits& limits) const {
  if (!available_) return CgroupScope{};
  std::string name{key};
  if (!unified_.empty()) NOMAD_TRY(make_directory(unified_ + '/' + name + ".scope"));
  for (const std::string& parent : controllers_v1_)
    NOMAD_TRY(make_directory(parent + '/' + name));
  CgroupScope scope = find(key);
  if (scope.memory_is_v2 || mounts_.version == CgroupMounts::Version::v2) {
    NOMAD_TRY(write_limits_v2(scope, limits));
    return scope;
  }
  if (limits.memory_bytes != 0) {
    NOMAD_TRY(
        write_file(scope.memory + "/memory.limit_in_bytes", std::to_string(limits.memory_bytes)));
  }
  if (limits.memory_soft_bytes != 0) {
    NOMAD_TRY(write_file(scope.memory + "/memory.soft_limit_in_bytes",
                         std::to_string(limits.memory_soft_bytes)));
  }
  if (limits.cpu_shares != 0 || limits.pids != 0 || !limits.cpus.empty())
    return Error{Errc::invalid_argument, "cpu and pids limits need cgroups of version 2"};
  return scope;
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
    if (!write_file(scope.unified + "/cgroup.kill", "1").has_error()
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
