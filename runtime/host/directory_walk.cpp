#include "runtime/host/directory_walk.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nomad::host {

namespace {

// Further ones are not counted: too little is better than too much, which tasks may be ended for.
constexpr std::size_t most_named = 100'000;
constexpr std::size_t most_waiting_bytes = 16UL << 20;

UniqueFd open_folder(int root, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return UniqueFd{static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how))};
}

UniqueFd open_top(const std::string& path) {
  return UniqueFd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
}

std::uint64_t blocks_of(const struct stat& status) {
  constexpr std::uint64_t block = 512;  // of st_blocks, whatever the file system's are
  return static_cast<std::uint64_t>(status.st_blocks) * block;
}

}  // namespace

DirectoryWalk::DirectoryWalk(std::string root, std::uint64_t max_entries)
    : root_path_(std::move(root)), max_entries_(max_entries) {}

Result<> DirectoryWalk::open_root() {
  root_ = open_top(root_path_);

  struct stat status {};

  if (!root_ || ::fstat(root_.get(), &status) != 0) {
    const auto code = errno == ENOENT || errno == ENOTDIR ? Errc::not_found : Errc::io;
    return errno_error("opening " + root_path_, errno, code);
  }
  device_ = status.st_dev;
  usage_.bytes = blocks_of(status);
  waiting_.emplace_back(".");
  return {};
}

Result<bool> DirectoryWalk::advance(std::uint64_t entries) {
  if (!root_) NOMAD_TRY(open_root());
  // What has gone meanwhile counts, too: it has cost as much.
  for (std::uint64_t seen = 0; seen < entries; ++seen) {
    if (!folder_ && !open_next()) {
      if (waiting_.empty()) return true;
      continue;
    }
    const dirent* entry = ::readdir(folder_.get());
    if (entry == nullptr) {
      folder_.reset();
    } else if (usage_.entries >= max_entries_) {
      usage_.complete = false;
      return true;
    } else {
      look_at(entry->d_name);
    }
  }
  return false;
}

bool DirectoryWalk::open_next() {
  if (waiting_.empty()) return false;
  path_ = std::move(waiting_.back());
  waiting_.pop_back();
  waiting_bytes_ -= std::min(waiting_bytes_, path_.size());
  UniqueFd opened = open_folder(root_.get(), path_);
  if (opened) folder_.reset(::fdopendir(opened.get()));
  if (folder_) {
    opened.release();  // It is the folder's now.
    return true;
  }
  // It has gone, or its place is taken by something that is none; a path may also be too long.
  if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) usage_.complete = false;
  return false;
}

void DirectoryWalk::look_at(const char* name) {
  const std::string_view text{name};
  if (text == "." || text == "..") return;

  struct stat status {};

  if (::fstatat(::dirfd(folder_.get()), name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) usage_.complete = false;
    return;
  }
  ++usage_.entries;
  if (status.st_dev != device_) return;
  if (!S_ISDIR(status.st_mode) && status.st_nlink > 1
      && (named_.size() >= most_named || !named_.insert(status.st_ino).second))
    return;
  usage_.bytes += blocks_of(status);
  if (S_ISDIR(status.st_mode)) remember(name);
}

void DirectoryWalk::remember(const char* name) {
  std::string path = path_ == "." ? std::string{name} : path_ + '/' + name;
  if (waiting_bytes_ + path.size() > most_waiting_bytes) {
    usage_.complete = false;
    return;
  }
  waiting_bytes_ += path.size();
  waiting_.push_back(std::move(path));
}

std::vector<std::string> missing_folders(const std::string& root,
                                         std::span<const std::string> names) {
  std::vector<std::string> missing;
  const UniqueFd top = open_top(root);
  for (const std::string& name : names) {
    struct stat status {};

    if (!top || ::fstatat(top.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0
        || !S_ISDIR(status.st_mode))
      missing.push_back(name);
  }
  return missing;
}

}  // namespace nomad::host
