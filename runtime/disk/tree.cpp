#include "runtime/disk/tree.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <fcntl.h>
#include <sys/stat.h>

#include <dirent.h>

#include "runtime/base/text.hpp"

namespace nomad::disk {

host::UniqueFd open_directory(int parent, const char* name) {
  return host::UniqueFd{::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
}

Result<host::UniqueFd> make_directory(int parent, const std::string& name, mode_t mode) {
  if (::mkdirat(parent, name.c_str(), mode) != 0 && errno != EEXIST)
    return errno_error("making the directory " + name, errno);
  auto made = open_directory(parent, name.c_str());
  if (!made) return errno_error("opening the directory " + name, errno, Errc::conflict);
  return made;
}

/// Of one directory; a whole disk has no more files, either.
constexpr std::size_t most_entries = 1'000'000;

Result<std::vector<std::string>> entries_of(int directory) {
  const int again = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return errno_error("reading a directory", errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream{::fdopendir(again), ::closedir};
  if (!stream) {
    const int why = errno;
    host::UniqueFd{again}.reset();
    return errno_error("reading a directory", why);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    std::string name{entry->d_name};
    if (name != "." && name != "..") names.push_back(std::move(name));
    if (names.size() > most_entries)
      return Error{Errc::too_large,
                   "a directory has more than " + std::to_string(most_entries) + " entries"};
    errno = 0;
  }
  if (errno != 0) return errno_error("reading a directory", errno);
  std::ranges::sort(names);
  return names;
}

Result<std::vector<std::string>> split_path(std::string_view path) {
  constexpr std::size_t longest = 4096;
  const auto refused = [whole = path] {
    return Error{Errc::rejected, quote(whole.substr(0, 256)) + " is no path below a directory"};
  };
  if (path.empty() || path.size() > longest || path.front() == '/') return refused();
  std::vector<std::string> parts;
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    const auto part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.find('\0') != part.npos) return refused();
    parts.emplace_back(part);
  }
  if (parts.empty()) return refused();
  return parts;
}

}  // namespace nomad::disk
