#include "runtime/host/task/task_socket.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/host/alloc_dir.hpp"

namespace nomad::host {
namespace {

/// Connections that may wait until they are taken in; the kernel has a bound of its own.
constexpr int waiting_connections = 128;

Error socket_error(const std::string& name, int error_number = errno) {
  return errno_error("the socket " + name, error_number);
}

/// Gives the file to its owner, if it is the socket that was just made: a hard link to another
/// one has more than one name.
Result<ino_t> give(int directory, const std::string& name, const FileOwner& owner) {
  const UniqueFd file{::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};

  struct stat status {};

  if (!file || ::fstat(file.get(), &status) != 0) return socket_error(name);
  if (!S_ISSOCK(status.st_mode) || status.st_nlink != 1) return socket_error(name, EEXIST);
  const bool is_given = owner.user
                        && ::fchownat(file.get(), "", *owner.user,
                                      owner.group.value_or(static_cast<gid_t>(-1)), AT_EMPTY_PATH)
                               == 0;
  const auto path = "/proc/self/fd/" + std::to_string(file.get());
  if (::chmod(path.c_str(), is_given ? owner_only : for_everybody) != 0) return socket_error(name);
  return status.st_ino;
}

/// Makes room for what is to be at `name`: a socket can't take a directory's place.
Result<> clear(int directory, const std::string& name) {
  if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return errno == EISDIR ? remove_tree(directory, name) : Result<>{socket_error(name)};
}

bool is_directory(int directory, const std::string& name) {
  struct stat status {};

  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0
         && S_ISDIR(status.st_mode);
}

}  // namespace

Result<TaskSocket> listen_for_task(const Beneath& root,
                                   std::string_view directory,
                                   const std::string& name,
                                   const FileOwner& owner) {
  const auto location = NOMAD_TRY(root.open_directory(directory));
  TaskSocket made{UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)}, 0};
  if (!made.listening || ::fchmod(made.listening.get(), owner_only) != 0) return socket_error(name);
  const auto beside = '.' + name + ".new";
  const auto path = "/proc/self/fd/" + std::to_string(location.get()) + '/' + beside;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return socket_error(name, ENAMETOOLONG);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  NOMAD_TRY(clear(location.get(), beside));  // of an agent that was killed
  if (is_directory(location.get(), name)) NOMAD_TRY(clear(location.get(), name));
  if (::bind(made.listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address)
      != 0)
    return socket_error(name);
  auto inode = give(location.get(), beside, owner);
  if (inode
      && (::listen(made.listening.get(), waiting_connections) != 0
          || ::renameat(location.get(), beside.c_str(), location.get(), name.c_str()) != 0))
    inode = socket_error(name);
  if (!inode) {
    ::unlinkat(location.get(), beside.c_str(), 0);
    return inode.error();
  }
  made.inode = *inode;
  return made;
}

bool is_at(const Beneath& root, std::string_view directory, const std::string& name, ino_t inode) {
  const auto location = root.open_directory(directory);

  struct stat status {};

  return location && ::fstatat(location->get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0
         && S_ISSOCK(status.st_mode) && status.st_ino == inode;
}

Result<> remove_from_task(const Beneath& root,
                          std::string_view directory,
                          const std::string& name) {
  const auto location = root.open_directory(directory);
  if (!location && location.error().code == Errc::not_found) return {};
  if (!location) return location.error();
  if (::unlinkat(location->get(), name.c_str(), 0) != 0 && errno != ENOENT)
    return socket_error(name);
  return {};
}

}  // namespace nomad::host
