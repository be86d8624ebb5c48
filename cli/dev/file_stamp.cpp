#include "cli/dev/file_stamp.hpp"

#include <algorithm>
#include <utility>

#include <sys/stat.h>

namespace nomad::cli::dev {
namespace {

FileStamp stamp_of(const std::string& path) {
  struct stat info {};

  if (::stat(path.c_str(), &info) != 0) return {};
  constexpr std::int64_t second = 1'000'000'000;
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size = static_cast<std::uint64_t>(info.st_size),
          .modified = info.st_mtim.tv_sec * second + info.st_mtim.tv_nsec};
}

}  // namespace

SavedFiles::SavedFiles(std::vector<std::string> paths)
    : paths_{std::move(paths)}, known_{stamps()}, last_{known_} {}

bool SavedFiles::look() {
  auto now = stamps();
  const bool is_settled = now == last_;
  last_ = now;
  if (!is_settled || now == known_) return false;
  known_ = std::move(now);
  return std::ranges::find(known_, FileStamp{}) == known_.end();
}

std::vector<FileStamp> SavedFiles::stamps() const {
  std::vector<FileStamp> all;
  for (const auto& path : paths_)
    all.push_back(stamp_of(path));
  return all;
}

}  // namespace nomad::cli::dev
