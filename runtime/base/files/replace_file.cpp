#include "runtime/base/files/replace_file.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

namespace nomad {
namespace {

/// 0, or the errno of what failed.
int write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const auto count = ::write(file, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

int close_or_errno(int file) {
  return ::close(file) == 0 || errno == EINTR ? 0 : errno;
}

int sync_and_close(int file) {
  const int failure = ::fsync(file) == 0 ? 0 : errno;
  const int failure_of_close = close_or_errno(file);
  return failure != 0 ? failure : failure_of_close;
}

Result<> write_fresh(const std::string& path, std::string_view content, Durability durability) {
  const int file
      = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return disk_error("cannot open \"" + path + "\"", errno);
  const int failure = write_all(file, content);
  const int failure_of_end = durability == Durability::of_disk && failure == 0
                                 ? sync_and_close(file)
                                 : close_or_errno(file);
  if (failure != 0) return disk_error("cannot write \"" + path + "\"", failure);
  if (failure_of_end != 0) return disk_error("cannot write \"" + path + "\"", failure_of_end);
  return {};
}

Result<> sync_parent(const std::string& path) {
  const auto parent = std::filesystem::path{path}.parent_path().string();
  const int directory
      = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return errno_error("cannot open \"" + parent + "\"", errno);
  if (const int failure = sync_and_close(directory); failure != 0)
    return errno_error("cannot sync \"" + parent + "\"", failure);
  return {};
}

}  // namespace

bool is_no_space(int errno_value) {
  return errno_value == ENOSPC || errno_value == EDQUOT;
}

Error disk_error(std::string_view attempt, int errno_value) {
  auto error = errno_error(attempt, errno_value);
  if (is_no_space(errno_value)) error.code = Errc::overloaded;
  return error;
}

Result<> replace_file(const std::string& path, std::string_view content, Durability durability) {
  const auto fresh = path + ".new";
  auto outcome = write_fresh(fresh, content, durability);
  if (outcome && std::rename(fresh.c_str(), path.c_str()) != 0)
    outcome = disk_error("cannot rename \"" + fresh + "\"", errno);
  if (!outcome) {
    ::unlink(fresh.c_str());
    return outcome;
  }
  return durability == Durability::of_disk ? sync_parent(path) : outcome;
}

}  // namespace nomad
