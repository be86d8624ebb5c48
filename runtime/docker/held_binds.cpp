#include "runtime/docker/held_binds.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/host/beneath.hpp"

namespace nomad::docker {
namespace {

/// Of a directory of the agent's own.
std::vector<std::string> entries_of(const std::string& directory) {
  std::vector<std::string> paths;
  for (const auto& name : names_in(directory).value_or(std::vector<std::string>{}))
    paths.push_back(directory + '/' + name);
  return paths;
}

/// Of the one that listens there; 0: it is none that is seen here.
pid_t process_behind(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) return 0;
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size());
  const host::UniqueFd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0
      || ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return 0;
  return peer.pid;
}

/// What the process finds at `path` is that file.
bool is_seen_by(pid_t process, const std::string& path, const struct stat& file) {
  if (process <= 0) return false;
  const auto link = fmt::format("/proc/{}/root", process);
  const host::UniqueFd root{::open(link.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  const host::UniqueFd found{
      static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how))};

  struct stat seen {};

  return found && ::fstat(found.get(), &seen) == 0 && seen.st_dev == file.st_dev
         && seen.st_ino == file.st_ino;
}

/// Where mounts are the host's alone, or are not the process's.
bool may_not_mount(int error) {
  return error == EPERM || error == ENOSYS || error == EINVAL;
}

Result<> make_target(const std::string& target, bool is_directory) {
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path{target}.parent_path(), failure);
  const bool is_made
      = is_directory
            ? ::mkdir(target.c_str(), 0700) == 0
            : host::UniqueFd{::open(target.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600)}.get() >= 0;
  if (!is_made) return errno_error("making " + target, errno);
  return {};
}

void release_target(const std::string& target) {
  ::umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  // What is mounted still can't be removed, and nothing is entered.
  if (::rmdir(target.c_str()) != 0) ::unlink(target.c_str());
}

Result<host::UniqueFd> open_source(const BindSource& source) {
  const auto within = NOMAD_TRY(host::Beneath::open(source.root, false));
  const auto inner = source.path.substr(source.root.size());
  auto found = within.open_location(inner);
  if (found || found.error().code != Errc::not_found) return found;
  if (!source.makes_missing)
    return Error{Errc::not_found, "bind source path does not exist: " + source.path};
  NOMAD_TRY(within.make_directories(inner, 0755));  // as the engine does
  return within.open_location(inner);
}

}  // namespace

Result<bool> hold_bind(const std::string& target,
                       const BindSource& source,
                       const std::string& engine_socket) {
  const auto found = NOMAD_TRY(open_source(source));
  const host::UniqueFd tree{::open_tree(
      found.get(), "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)};
  if (!tree && may_not_mount(errno)) return false;
  if (!tree) return errno_error("opening " + source.path + " as a mount", errno);

  struct stat status {};

  if (::fstat(found.get(), &status) != 0) return errno_error("looking at " + source.path, errno);
  NOMAD_TRY(make_target(target, S_ISDIR(status.st_mode)));
  if (::move_mount(tree.get(), "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
    const int error = errno;
    release_target(target);
    if (may_not_mount(error)) return false;
    return errno_error("mounting " + source.path, error);
  }
  if (is_seen_by(process_behind(engine_socket), target, status)) return true;
  release_target(target);
  return false;
}

void release_binds(const std::string& location) {
  for (const auto& target : entries_of(location))
    release_target(target);
  ::rmdir(location.c_str());
}

void release_binds_of_others(const std::string& folder,
                             const std::string& own,
                             const std::function<bool(std::string_view location)>& is_kept) {
  for (const auto& life : entries_of(folder)) {
    if (life.ends_with('/' + own)) continue;
    for (const auto& location : entries_of(life))
      if (!is_kept(std::string_view{location}.substr(life.size() + 1))) release_binds(location);
    ::rmdir(life.c_str());
  }
}

}  // namespace nomad::docker
