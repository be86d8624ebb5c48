#include "runtime/host/isolation/isolation.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

namespace {

/// "/usr/bin" for "/bin" where that is a link; itself otherwise.
std::string real_path(const std::string& path) {
  char buffer[PATH_MAX];
  return ::realpath(path.c_str(), buffer) == nullptr ? path : std::string{buffer};
}

/// Whether the task's directory has something there of which a link to `real` would not be true.
/// A link that leads out of it is one that an earlier start has made.
bool has_own(const std::string& path) {
  struct stat status {};

  return ::lstat(path.c_str(), &status) == 0 && !S_ISLNK(status.st_mode);
}

/// Whether the kernel knows a system call, which is asked for something that cannot be.
template <class... Arguments>
bool knows(long number, Arguments... arguments) {
  return ::syscall(number, arguments...) >= 0 || errno != ENOSYS;
}

bool has_namespace(const char* name) {
  return ::access((std::string{"/proc/self/ns/"} + name).c_str(), F_OK) == 0;
}

}  // namespace

Result<bool> is_private(const std::string& name, const std::string& mode, bool otherwise) {
  if (mode.empty()) return otherwise;
  if (mode == "private" || mode == "host") return mode == "private";
  return Error{Errc::invalid_argument,
               name + " must be \"private\" or \"host\", got \"" + mode + "\""};
}

Result<std::vector<ChrootEntry>> look_at_chroot(const std::map<std::string, std::string>& env,
                                                const std::string& task_directory) {
  std::vector<ChrootEntry> entries;
  for (const auto& [source, target] : env) {
    ChrootEntry entry{.source = task_path(source), .target = task_path(target)};
    if (entry.target == "/")
      return Error{Errc::invalid_argument,
                   "chroot_env: \"" + source
                       + "\" can't be all that tasks see; give it a directory in the task"};

    struct stat status {};

    if (::stat(entry.source.c_str(), &status) == 0)
      entry.kind = S_ISDIR(status.st_mode) ? ChrootEntry::Kind::directory : ChrootEntry::Kind::file;
    entry.real = real_path(entry.source);
    entry.is_taken = has_own(task_directory + entry.target);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string missing_for_isolation() {
  if (::geteuid() != 0) return needs_root;
  for (const char* name : {"mnt", "pid", "ipc"})
    if (!has_namespace(name))
      return std::string{"the kernel has no namespaces of the kind "} + name;
  if (!knows(SYS_openat2, -1, "", nullptr, std::size_t{0})
      || !knows(SYS_mount_setattr, -1, "", 0U, nullptr, std::size_t{0})
      || !knows(SYS_fsopen, nullptr, 0U) || !knows(SYS_move_mount, -1, "", -1, "", 0U))
    return "the kernel lacks mount_setattr(2): exec needs Linux 5.12 or later";
  const std::uint32_t wanted = SECCOMP_RET_ERRNO;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &wanted) != 0)
    return "the kernel has no filters of system calls (CONFIG_SECCOMP_FILTER)";
  const UniqueFd file_system{::fsopen("tmpfs", FSOPEN_CLOEXEC)};
  if (!file_system)
    return "file systems can't be mounted: " + errno_error("making a tmpfs", errno).what;
  return {};
}

Result<> try_overlay(const std::string& directory) {
  const auto make = [&directory]() -> Result<> {
    for (const char* part : {"", "/upper", "/work"})
      if (::mkdir((directory + part).c_str(), 0700) != 0 && errno != EEXIST)
        return errno_error("making the directory " + directory + part, errno);
    const UniqueFd overlay{::fsopen("overlay", FSOPEN_CLOEXEC)};
    if (!overlay) return errno_error("opening the file system overlay", errno);
    const auto set = [&overlay](const char* name, const std::string& value) {
      return ::fsconfig(overlay.get(), FSCONFIG_SET_STRING, name, value.c_str(), 0) == 0;
    };
    const bool made = set("lowerdir", "/etc") && set("upperdir", directory + "/upper")
                      && set("workdir", directory + "/work") && set("index", "off")
                      && ::fsconfig(overlay.get(), FSCONFIG_SET_FLAG, "volatile", nullptr, 0) == 0
                      && ::fsconfig(overlay.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0;
    if (!made) return errno_error("making an overlay in " + directory, errno);
    return {};
  };
  const auto outcome = make();
  std::error_code ignored;  // What is left is used the next time.
  std::filesystem::remove_all(directory, ignored);
  return outcome;
}

}  // namespace nomad::host
