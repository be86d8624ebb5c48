#include "runtime/host/executor/log_writer.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dirent.h>

namespace nomad::host::executor {

namespace {

// Of a directory where the task may put any number of files.
constexpr std::size_t most_names = 1'000'000;

// Calls `visit` with the index of each file "<base>.<index>" in the directory.
template <class Visit>
void for_each_index(int directory, const std::string& base, Visit visit) {
  int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;
  DIR* entries = ::fdopendir(copy);
  if (entries == nullptr) {
    ::close(copy);
    return;
  }
  for (std::size_t seen = 0; seen < most_names; ++seen) {
    const dirent* entry = ::readdir(entries);
    if (entry == nullptr) break;
    const std::string_view name{entry->d_name};
    if (const auto index = log_index(name, base)) visit(*index, entry->d_name);
  }
  ::closedir(entries);
}

}  // namespace

std::size_t bytes_for_file(std::string_view data,
                           std::uint64_t space,
                           std::uint64_t max_file_bytes) {
  if (data.size() <= space) return data.size();
  if (space == 0) return 0;
  // Not all fits: up to the last line end that does.
  std::size_t line_end = data.substr(0, space).rfind('\n');
  if (line_end != std::string_view::npos) return line_end + 1;
  // The first line does not fit here. Into the next file with it, unless it fits none.
  std::size_t first = data.find('\n');
  std::size_t length = first == std::string_view::npos ? data.size() : first + 1;
  return length > max_file_bytes ? static_cast<std::size_t>(space) : 0;
}

UniqueFd open_log_directory(const std::string& alloc_root) {
  UniqueFd root{::open(alloc_root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!root) return {};
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return UniqueFd{
      static_cast<int>(::syscall(SYS_openat2, root.get(), "alloc/logs", &how, sizeof how))};
}

LogWriter::LogWriter(UniqueFd directory, Options options)
    : directory_(std::move(directory)), options_(std::move(options)) {
  if (options_.max_files == 0) options_.max_files = 1;
  if (options_.max_file_bytes == 0) options_.max_file_bytes = 1;
}

int LogWriter::open() {
  index_ = 0;
  for_each_index(directory_.get(), options_.base, [this](std::uint64_t index, const char*) {
    if (index > index_) index_ = index;
  });
  // There may be fewer than the last writer was given.
  oldest_ = index_ - std::min<std::uint64_t>(index_, options_.max_files - 1);
  for_each_index(directory_.get(), options_.base, [this](std::uint64_t index, const char* name) {
    if (index < oldest_) ::unlinkat(directory_.get(), name, 0);
  });
  const int error = open_index();
  remove_old();
  return error;
}

int LogWriter::open_index() {
  constexpr int tries = 64;
  int error = EEXIST;
  for (int i = 0; i < tries; ++i, ++index_) {
    if (index_ > largest_log_index) begin_anew();
    std::string name = options_.base + '.' + std::to_string(index_);
    file_.reset(::openat(directory_.get(), name.c_str(),
                         O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                         0644));
    if (!file_) {
      error = errno;
      if (error == ELOOP || error == EISDIR || error == ENXIO) continue;
      return error;
    }

    struct stat status {};

    if (::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1) {
      size_ = static_cast<std::uint64_t>(status.st_size);
      return 0;
    }
    file_.reset();
  }
  return error;
}

int LogWriter::rotate() {
  ++index_;
  remove_old();  // First: on a full disk that makes the room for the next one.
  return open_index();
}

/// (4)
void LogWriter::begin_anew() {
  for_each_index(directory_.get(), options_.base, [this](std::uint64_t, const char* name) {
    ::unlinkat(directory_.get(), name, 0);
  });
  index_ = oldest_ = 0;
}

/// A directory or an absent file needs no removing.
void LogWriter::remove_old() {
  for (; oldest_ + options_.max_files <= index_; ++oldest_)
    ::unlinkat(directory_.get(), (options_.base + '.' + std::to_string(oldest_)).c_str(), 0);
}

int LogWriter::append(std::string_view data) {
  while (!data.empty()) {
    ssize_t written = ::write(file_.get(), data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    size_ += static_cast<std::uint64_t>(written);
    data.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int LogWriter::write(std::string_view data) {
  // The last open may have failed for want of space or because the directory had gone.
  if (!file_) {
    if (int error = open_index(); error != 0) return error;
  }
  while (!data.empty()) {
    std::uint64_t space = size_ < options_.max_file_bytes ? options_.max_file_bytes - size_ : 0;
    std::size_t count = bytes_for_file(data, space, options_.max_file_bytes);
    if (count == 0) {
      if (int error = rotate(); error != 0) return error;
      continue;
    }
    if (int error = append(data.substr(0, count)); error != 0) return error;
    data.remove_prefix(count);
  }
  return 0;
}

}  // namespace nomad::host::executor
