#include "runtime/host/executor/enter.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sched.h>

namespace nomad::host::executor {

namespace {

using schema::executor::Isolation;
using schema::executor::Mount;

constexpr int last_known_capability = 63;

bool is_directory(int descriptor) {
  struct stat status {};

  return ::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
}

/// Opens `path` below `root`, never through a link, and makes what is missing of it: directories,
/// and at the end a directory or an empty file.
UniqueFd make_beneath(int root, const char* path, bool directory) {
  constexpr int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd at{::openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  std::string rest = path;
  for (std::size_t begin = rest.find_first_not_of('/'); at && begin != rest.npos;) {
    const std::size_t end = rest.find('/', begin);
    const std::string name = rest.substr(begin, end == rest.npos ? end : end - begin);
    begin = end == rest.npos ? end : rest.find_first_not_of('/', end);
    const bool inner = begin != rest.npos || directory;
    UniqueFd next{::openat(at.get(), name.c_str(), flags | (inner ? O_DIRECTORY : 0))};
    if (!next && errno == ENOENT) {
      if (inner && ::mkdirat(at.get(), name.c_str(), 0755) != 0 && errno != EEXIST) return {};
      if (!inner && ::mknodat(at.get(), name.c_str(), S_IFREG | 0644, 0) != 0 && errno != EEXIST)
        return {};
      next.reset(::openat(at.get(), name.c_str(), flags | (inner ? O_DIRECTORY : 0)));
    }
    at = std::move(next);
  }
  return at;
}

bool set_attributes(int mount, std::uint64_t attributes, std::uint64_t propagation) {
  mount_attr change{};
  change.attr_set = attributes;
  change.propagation = propagation;
  return ::mount_setattr(mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof change) == 0;
}

/// A detached copy of what is mounted at `path` and below.
UniqueFd clone_tree(const char* path) {
  return UniqueFd{::open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)};
}

bool attach(const UniqueFd& mount, const UniqueFd& target) {
  return ::move_mount(mount.get(), "", target.get(), "",
                      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH)
         == 0;
}

bool set_option(int file_system, const char* option) {
  const char* equals = std::strchr(option, '=');
  if (equals == nullptr) return ::fsconfig(file_system, FSCONFIG_SET_FLAG, option, nullptr, 0) == 0;
  const std::string name{option, equals};
  return ::fsconfig(file_system, FSCONFIG_SET_STRING, name.c_str(), equals + 1, 0) == 0;
}

UniqueFd finish_file_system(const UniqueFd& file_system, std::uint64_t attributes) {
  if (::fsconfig(file_system.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  return UniqueFd{::fsmount(file_system.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes))};
}

UniqueFd make_file_system(Mount::Reader mount) {
  const UniqueFd file_system{::fsopen(mount.getSource().cStr(), FSOPEN_CLOEXEC)};
  if (!file_system) return {};
  for (const auto option : mount.getOptions())
    if (!set_option(file_system.get(), option.cStr())) return {};
  return finish_file_system(file_system, mount.getAttributes());
}

/// An overlay is volatile: nothing of it is synced, above all not all of the host's file system
/// when it ends. What is above is the task's and of no use without it. The kernel leaves a mark of
/// that, and takes no overlay again that has it.
void forget_volatile(int work) {
  ::unlinkat(work, "work/incompat/volatile/dirty", 0);
  ::unlinkat(work, "work/incompat/volatile", AT_REMOVEDIR);
  ::unlinkat(work, "work/incompat", AT_REMOVEDIR);
}

/// By descriptors of its directories, which were found without following links: with them, and not
/// with what a task may have put in their place.
UniqueFd make_overlay(Mount::Reader mount, int root) {
  const UniqueFd upper = make_beneath(root, mount.getTarget().cStr(), true);
  const UniqueFd file_system{::fsopen("overlay", FSOPEN_CLOEXEC)};
  const UniqueFd host{::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  const UniqueFd work = make_beneath(host.get(), mount.getWork().cStr(), true);
  if (!upper || !file_system || !work) return {};
  forget_volatile(work.get());
  const auto set = [&file_system](const char* name, const std::string& value) {
    return ::fsconfig(file_system.get(), FSCONFIG_SET_STRING, name, value.c_str(), 0) == 0;
  };
  const auto path_of = [](const UniqueFd& directory) {
    return "/proc/self/fd/" + std::to_string(directory.get());
  };
  if (!set("lowerdir", mount.getSource().cStr()) || !set("upperdir", path_of(upper))
      || !set("workdir", path_of(work)) || !set("index", "off")
      || !set_option(file_system.get(), "volatile"))
    return {};
  return finish_file_system(file_system, mount.getAttributes());
}

/// What has to be opened before the host's tree is gone, an entry for each of the mounts.
bool open_sources(Isolation::Reader isolation,
                  int root,
                  std::vector<UniqueFd>& sources,
                  EnterFailure& failure) {
  for (const auto mount : isolation.getMounts()) {
    UniqueFd source;
    if (mount.getKind() == Mount::Kind::BIND) {
      source = clone_tree(mount.getSource().cStr());
      if (!source || !set_attributes(source.get(), mount.getAttributes(), mount.getPropagation()))
        return failure.of("opening", mount.getSource().cStr());
    } else if (mount.getKind() == Mount::Kind::OVERLAY) {
      source = make_overlay(mount, root);
      if (!source || !set_attributes(source.get(), 0, mount.getPropagation()))
        return failure.of("making an overlay for", mount.getTarget().cStr());
    }
    sources.push_back(std::move(source));
  }
  return true;
}

bool change_root(Isolation::Reader isolation, const UniqueFd& tree, EnterFailure& failure) {
  const char* path = isolation.getRoot().cStr();
  const UniqueFd location{::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!location || !attach(tree, location)) return failure.of("mounting", path);
  if (::fchdir(tree.get()) != 0) return failure.of("entering", path);
  if (isolation.getPivot()) {
    // The old root comes to lie on the new one, and is taken off.
    if (::syscall(SYS_pivot_root, ".", ".") != 0) return failure.of("pivot_root to", path);
    if (::umount2(".", MNT_DETACH) != 0) return failure.of("leaving", "the host's files");
  } else {
    const UniqueFd old{::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (!old || !attach(tree, old)) return failure.of("moving to the root", path);
    if (::fchdir(tree.get()) != 0 || ::chroot(".") != 0) return failure.of("chroot to", path);
  }
  return ::chdir("/") == 0 || failure.of("entering", "the new root");
}

bool make_link(Mount::Reader mount, int root) {
  const std::string target = mount.getTarget().cStr();
  const std::size_t slash = target.rfind('/');
  const UniqueFd directory = make_beneath(root, target.substr(0, slash).c_str(), true);
  return directory
         && (::symlinkat(mount.getSource().cStr(), directory.get(), target.c_str() + slash + 1) == 0
             || errno == EEXIST);
}

/// An empty directory, or an empty file, over what is there.
bool mask(const char* path) {
  const UniqueFd target{::open(path, O_PATH | O_CLOEXEC)};
  if (!target) return errno == ENOENT || errno == ENOTDIR;
  UniqueFd cover;
  if (is_directory(target.get())) {
    const UniqueFd file_system{::fsopen("tmpfs", FSOPEN_CLOEXEC)};
    if (!file_system || !set_option(file_system.get(), "mode=700")) return false;
    cover = finish_file_system(
        file_system, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
  } else {
    cover = clone_tree("/dev/null");
  }
  return cover && attach(cover, target);
}

bool make_read_only(const char* path) {
  const UniqueFd target{::open(path, O_PATH | O_CLOEXEC)};
  if (!target) return errno == ENOENT || errno == ENOTDIR;
  const UniqueFd copy = clone_tree(path);
  return copy && set_attributes(copy.get(), MOUNT_ATTR_RDONLY, MS_PRIVATE) && attach(copy, target);
}

bool carry_out(Mount::Reader mount, UniqueFd source, int root, EnterFailure& failure) {
  const char* target = mount.getTarget().cStr();
  switch (mount.getKind()) {
    case Mount::Kind::FRESH:
      source = make_file_system(mount);
      if (!source) return failure.of("making the file system of", target);
      [[fallthrough]];
    case Mount::Kind::BIND:
    case Mount::Kind::OVERLAY: {
      const UniqueFd location = make_beneath(root, target, is_directory(source.get()));
      return (location && attach(source, location)) || failure.of("mounting", target);
    }
    case Mount::Kind::LINK:
      return make_link(mount, root) || failure.of("linking", target);
    case Mount::Kind::MASK:
      return mask(target) || failure.of("hiding", target);
    case Mount::Kind::READ_ONLY:
      return make_read_only(target) || failure.of("protecting", target);
  }
  errno = ENOSYS;
  return failure.of("an unknown kind of mount at", target);
}

}  // namespace

bool EnterFailure::of(const char* step, const char* object) {
  error_number = errno;
  std::snprintf(what, sizeof what, "%s %s", step, object);
  return false;
}

bool enter_root(Isolation::Reader isolation, EnterFailure& failure) {
  const char* path = isolation.getRoot().cStr();
  const UniqueFd directory{::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
  const UniqueFd tree = clone_tree(path);
  if (!directory || !tree || !set_attributes(tree.get(), isolation.getRootAttributes(), MS_PRIVATE))
    return failure.of("opening", path);
  std::vector<UniqueFd> sources;
  if (!open_sources(isolation, directory.get(), sources, failure)) return false;
  // What is mounted on the host from now on may come here, but nothing goes back.
  if (::mount(nullptr, "/", nullptr, MS_SLAVE | MS_REC, nullptr) != 0)
    return failure.of("parting from the mounts of", "the host");
  if (!change_root(isolation, tree, failure)) return false;
  const UniqueFd root{::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  unsigned index = 0;
  for (const auto mount : isolation.getMounts())
    if (!carry_out(mount, std::move(sources[index++]), root.get(), failure)) return false;
  return true;
}

bool open_location(pid_t task,
                   Isolation::Reader isolation,
                   TaskIsolation& location,
                   EnterFailure& failure) {
  const std::string names = "/proc/" + std::to_string(task) + "/ns/";
  location.mounts.reset(::open((names + "mnt").c_str(), O_RDONLY | O_CLOEXEC));
  if (!location.mounts) return failure.of("opening", (names + "mnt").c_str());
  if (!isolation.getPrivateIpc()) return true;
  location.ipc.reset(::open((names + "ipc").c_str(), O_RDONLY | O_CLOEXEC));
  return location.ipc || failure.of("opening", (names + "ipc").c_str());
}

bool join_location(const TaskIsolation& location, EnterFailure& failure) {
  if (location.ipc && ::setns(location.ipc.get(), CLONE_NEWIPC) != 0)
    return failure.of("entering", "the task's IPC namespace");
  if (location.mounts && ::setns(location.mounts.get(), CLONE_NEWNS) != 0)
    return failure.of("entering", "the task's mount namespace");
  return true;
}

void leave_keys() {
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
}

const char* find_program(const std::vector<std::string>& programs, bool only_executable) {
  for (const std::string& program : programs) {
    const UniqueFd file{::open(program.c_str(), O_PATH | O_CLOEXEC)};

    struct stat status {};

    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    constexpr mode_t wanted = 0555;
    if (only_executable && (status.st_mode & 0111) == 0) continue;
    // What can't be changed (it is read-only, or not ours) is executed as it is, or fails.
    if (!only_executable && (status.st_mode & wanted) != wanted)
      ::fchmodat(AT_FDCWD, program.c_str(), (status.st_mode & 07777) | wanted, 0);
    return program.c_str();
  }
  return nullptr;
}

bool install_filter(Isolation::Reader isolation, EnterFailure& failure) {
  const auto filter = isolation.getFilter();
  if (isolation.getNoNewPrivileges() && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return failure.of("giving up", "new privileges");
  if (filter.size() == 0) return true;
  // Executors get it as bytes, whose place in the message need not suit its words.
  std::vector<sock_filter> steps(filter.size() / sizeof(sock_filter));
  std::memcpy(steps.data(), filter.begin(), steps.size() * sizeof(sock_filter));
  const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0
         || failure.of("installing", "the filter of system calls");
}

bool take_identity(Isolation::Reader isolation, uid_t uid, gid_t gid, EnterFailure& failure) {
  const std::uint64_t wanted = isolation.getCapabilities();
  for (int capability = 0; capability <= last_known_capability; ++capability) {
    if ((wanted >> capability & 1) != 0) continue;
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL)
      return failure.of("dropping", "capabilities");
  }
  if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || ::setresgid(gid, gid, gid) != 0
      || ::setresuid(uid, uid, uid) != 0)
    return failure.of("setting", "the user");
  // Of those that the kernel knows, and that the agent has itself.
  std::uint64_t known = 0;
  for (int capability = 0; capability <= last_known_capability; ++capability)
    if ((wanted >> capability & 1) != 0 && ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1)
      known |= std::uint64_t{1} << capability;
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  const auto low = static_cast<std::uint32_t>(known);
  const auto high = static_cast<std::uint32_t>(known >> 32);
  const bool keep = isolation.getAmbient();
  data[0] = {low, low, keep ? low : 0};
  data[1] = {high, high, keep ? high : 0};
  if (::syscall(SYS_capset, &head, data) != 0) return failure.of("setting", "capabilities");
  for (int capability = 0; keep && capability <= last_known_capability; ++capability)
    if ((known >> capability & 1) != 0
        && ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) != 0)
      return failure.of("keeping", "capabilities");
  return true;
}

}  // namespace nomad::host::executor
