#include "runtime/docker/held_binds.hpp"

#include <cerrno>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/host/beneath.hpp"

namespace nomad::docker {
namespace {

/// Of a directory of the agent's own.
std::vector<std::string> entries_of(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code failure;
  for (std::filesystem::directory_iterator at{directory, failure}, end; !failure && at != end;
       at.increment(failure))
    paths.push_back(at->path());
  return paths;
}

}  // namespace

Result<std::optional<std::string>> hold_bind(const std::string& place,
                                             std::size_t number,
                                             const std::string& root,
                                             const std::string& path) {
  const auto within = NOMAD_TRY(host::Beneath::open(root, false));
  const auto inner = path.substr(root.size());
  auto found = within.open_place(inner);
  if (!found && found.error().code == Errc::not_found) {
    NOMAD_TRY(within.make_directories(inner, 0755));  // as the engine does
    found = within.open_place(inner);
  }
  if (!found) return found.error();
  const host::UniqueFd tree{::open_tree(
      found->get(), "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)};
  if (!tree && (errno == EPERM || errno == ENOSYS)) return std::optional<std::string>{};
  if (!tree) return errno_error("opening " + path + " as a mount", errno);

  struct stat status {};

  if (::fstat(found->get(), &status) != 0) return errno_error("looking at " + path, errno);
  std::error_code failure;
  std::filesystem::create_directories(place, failure);
  auto target = fmt::format("{}/{}", place, number);
  const bool is_made
      = S_ISDIR(status.st_mode)
            ? ::mkdir(target.c_str(), 0700) == 0
            : host::UniqueFd{::open(target.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600)}.get() >= 0;
  if (!is_made) return errno_error("making " + target, errno);
  if (::move_mount(tree.get(), "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return errno_error("mounting " + path, errno);
  return std::optional{std::move(target)};
}

void release_binds(const std::string& place) {
  for (const auto& target : entries_of(place)) {
    ::umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
    // What is mounted still can't be removed, and nothing is entered.
    if (::rmdir(target.c_str()) != 0) ::unlink(target.c_str());
  }
  ::rmdir(place.c_str());
}

void release_binds_of_others(const std::string& folder, const std::string& own) {
  for (const auto& life : entries_of(folder)) {
    if (life.ends_with('/' + own)) continue;
    for (const auto& place : entries_of(life))
      release_binds(place);
    ::rmdir(life.c_str());
  }
}

}  // namespace nomad::docker
