#include "actors/client/volumes/mount_points.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad::client {
namespace {

namespace fs = std::filesystem;

constexpr int most_layers = 64;               ///< Mounts on top of each other.
constexpr std::size_t most_mounts = 100'000;  ///< That the kernel's list is read for.

/// A line of /proc/self/mountinfo.
struct MountLine {
  std::string at;
  bool is_shared = false;
};

/// The kernel writes blanks and the like as "\040".
std::string unescaped(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 3 >= text.size()) {
      made += text[at];
      continue;
    }
    int code = 0;
    for (std::size_t digit = 1; digit <= 3; ++digit)
      code = code * 8 + (text[at + digit] - '0');
    made += static_cast<char>(code);
    at += 3;
  }
  return made;
}

std::vector<MountLine> read_mounts() {
  std::vector<MountLine> mounts;
  std::ifstream file{"/proc/self/mountinfo"};
  for (std::string line; mounts.size() < most_mounts && std::getline(file, line);) {
    const auto fields = split(line, ' ');
    if (fields.size() < 7) continue;
    MountLine mount{unescaped(fields[4])};
    for (std::size_t at = 6; at < fields.size() && fields[at] != "-"; ++at)
      mount.is_shared = mount.is_shared || fields[at].starts_with("shared:");
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

bool is_below(std::string_view path, std::string_view directory) {
  return directory == "/" || path == directory
         || (path.starts_with(directory) && path[directory.size()] == '/');
}

/// Whether the mount that `path` is on has peers that hear of mounts.
bool is_on_shared(const std::string& path) {
  const auto mounts = read_mounts();
  const MountLine* best = nullptr;
  for (const auto& mount : mounts)  // a later one lies on top
    if (is_below(path, mount.at) && (best == nullptr || mount.at.size() >= best->at.size()))
      best = &mount;
  return best != nullptr && best->is_shared;
}

/// Those of the allocation and the volume that `path` was mounted for, unless others use them.
void remove_directories_above(const std::string& path) {
  std::vector<std::string> unused;
  auto above = fs::path{path}.parent_path();
  for (; unused.size() < 3 && above.has_relative_path(); above = above.parent_path()) {
    if (above.filename() == "per-alloc" || above.filename() == "staging") break;
    unused.push_back(above.string());
  }
  if (unused.size() > 2 || !above.has_relative_path()) return;  // no place of a volume
  for (const auto& directory : unused)
    if (::rmdir(directory.c_str()) != 0) return;
}

}  // namespace

bool is_mount_point(const std::string& path) {
  struct statx status {};

  // Nothing is asked of the file system there: its plugin may be gone, and it may be dead with it.
  // What can't be looked at for another reason than that it is not there is taken for mounted.
  const auto flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  if (::statx(AT_FDCWD, path.c_str(), flags, 0, &status) != 0)
    return errno != ENOENT && errno != ENOTDIR;
  return (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

Result<> make_directory(const std::string& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) return errno_error(path, failure.value());
  if (!is_mount_point(path) && ::chmod(path.c_str(), 0700) != 0) return errno_error(path, errno);
  return {};
}

Result<> make_plugin_directory(const std::string& path) {
  NOMAD_TRY(make_directory(path));
  if (is_on_shared(path)) return {};
  if (::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return errno_error("mounting " + path, errno);
  if (::mount(nullptr, path.c_str(), nullptr, MS_SHARED, nullptr) != 0)
    return errno_error("sharing " + path, errno);
  return {};
}

Result<> clear_mount_point(const std::string& path) {
  for (int layer = 0; layer < most_layers && is_mount_point(path); ++layer)
    if (::umount2(path.c_str(), UMOUNT_NOFOLLOW) != 0)
      return errno_error("unmounting " + path, errno, Errc::unavailable);
  // What is in it belongs to nobody any more, and is not ours to remove.
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT && errno != ENOTEMPTY && errno != ENOTDIR)
    return errno_error("removing " + path, errno, Errc::unavailable);
  static_cast<void>(::unlink(path.c_str()));  // a block device's file, or nothing
  remove_directories_above(path);
  return {};
}

std::vector<std::string> clear_unknown(const std::string& root,
                                       const std::vector<std::string>& known) {
  const std::set<std::string> kept{known.begin(), known.end()};
  auto mounts = read_mounts();
  std::reverse(mounts.begin(), mounts.end());  // what was mounted last comes off first
  std::vector<std::string> cleared;
  for (const auto& mount : mounts) {
    if (!is_below(mount.at, root) || mount.at == root || kept.contains(mount.at)) continue;
    const auto parts = split(std::string_view{mount.at}.substr(root.size() + 1), '/');
    const bool is_target = parts.size() > 3 && (parts[2] == "per-alloc" || parts[2] == "staging");
    if (is_target && clear_mount_point(mount.at)) cleared.push_back(mount.at);
  }
  return cleared;
}

}  // namespace nomad::client
