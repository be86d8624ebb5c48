#include "runtime/storage/directory.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nomad::storage {
namespace {

Result<> sync_path(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) return errno_error("cannot open \"" + path + "\"", errno);
  const int failure = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  if (failure != 0) return errno_error("cannot sync \"" + path + "\"", failure);
  return {};
}

Result<> set_mode(const std::string& path, unsigned mode) {
  if (::chmod(path.c_str(), mode) != 0)
    return errno_error("cannot change the mode of \"" + path + "\"", errno);
  return {};
}

/// Adds to `changed` what has a new name in it.
Result<> make_unsynced(const std::string& path, unsigned mode, std::vector<std::string>& changed) {
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) return {};
  const auto parent = std::filesystem::path{path}.parent_path();
  if (!parent.empty() && parent != path) NOMAD_TRY(make_unsynced(parent, mode, changed));
  if (::mkdir(path.c_str(), mode) == 0)
    NOMAD_TRY(set_mode(path, mode));  // whatever the umask is
  else if (errno != EEXIST)
    return errno_error("cannot create directory \"" + path + "\"", errno);
  if (!std::filesystem::is_directory(path, status))
    return Error{Errc::io, "\"" + path + "\" is not a directory"};
  if (auto in = directory_of(path); std::ranges::find(changed, in) == changed.end())
    changed.push_back(std::move(in));
  return {};
}

}  // namespace

std::string directory_of(const std::string& path) {
  const auto parent = std::filesystem::path{path}.parent_path().string();
  return parent.empty() ? "." : parent;
}

Result<> make_directory(const std::string& path, unsigned mode) {
  return make_directories({{path, mode}});
}

Result<> make_directories(const std::vector<WantedDirectory>& wanted) {
  for (const auto& directory : NOMAD_TRY(add_directories(wanted)))
    NOMAD_TRY(sync_directory(directory));
  return {};
}

Result<std::vector<std::string>> add_directories(const std::vector<WantedDirectory>& wanted) {
  std::vector<std::string> changed;
  for (const auto& [path, mode] : wanted)
    NOMAD_TRY(make_unsynced(path, mode, changed));
  return changed;
}

Result<> make_private_directory(const std::string& path) {
  NOMAD_TRY(make_directory(path));
  return set_mode(path, private_mode);
}

Result<> sync_directory(const std::string& path) {
  return sync_path(path, O_RDONLY | O_DIRECTORY);
}

Result<> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return errno_error("cannot remove \"" + path + "\"", errno);
  return sync_directory(directory_of(path));
}

Result<> sync_file(const std::string& path) {
  return sync_path(path, O_RDONLY);
}

}  // namespace nomad::storage
