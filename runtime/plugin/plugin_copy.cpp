#include "runtime/plugin/plugin_copy.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::plugin {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t part_bytes = std::size_t{1} << 20;
constexpr off_t most_copied_bytes = off_t{1} << 32;
constexpr std::string_view elf_magic = "\177ELF";
constexpr std::string_view origin = "$ORIGIN";
constexpr std::size_t most_location_bytes = 4096;  // of a location below $ORIGIN

std::int64_t nanoseconds_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileStamp stamp_from(const struct stat& is) {
  return {.device = is.st_dev,
          .inode = is.st_ino,
          .size = is.st_size,
          .modified = nanoseconds_of(is.st_mtim),
          .changed = nanoseconds_of(is.st_ctim)};
}

/// Whether the file is looked for others beside itself, in a folder that is there.
class OriginSearch {
public:
  explicit OriginSearch(const std::string& file) : folder_{fs::path{file}.parent_path()} {}

  /// Parts of the file, one behind the other.
  void see(std::string_view part) {
    kept_.append(part);
    std::size_t done = 0;
    for (std::size_t at; (at = kept_.find(origin, done)) != std::string::npos;) {
      const auto begin = at + origin.size();
      const auto end = kept_.find_first_of(std::string_view{":\0", 2}, begin);
      if (end == std::string::npos && kept_.size() - begin < most_location_bytes) {
        kept_.erase(0, at);
        return;  // its end is in the next part
      }
      std::error_code unknown;
      const auto location
          = end == std::string::npos ? std::string{} : kept_.substr(begin, end - begin);
      has_found_ = has_found_ || fs::is_directory(folder_ + location, unknown);
      done = begin;
    }
    if (kept_.size() > origin.size()) kept_.erase(0, std::max(done, kept_.size() - origin.size()));
  }

  bool has_found() const { return has_found_; }

private:
  std::string folder_;
  std::string kept_;  ///< What may be the beginning of one.
  bool has_found_ = false;
};

bool may_run_in(const std::string& directory) {
  struct statvfs is {};

  return ::statvfs(directory.c_str(), &is) == 0 && (is.f_flag & ST_NOEXEC) == 0;
}

Result<> write_all(int to, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const auto written = ::write(to, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return errno_error("writing " + path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// The bytes of `from`; whether they look for others beside the file `path`.
Result<bool> copy_bytes(int from, int to, const std::string& path, const std::string& copy) {
  OriginSearch search{path};
  std::vector<char> part(part_bytes);
  off_t copied = 0;
  for (;;) {
    const auto got = ::read(from, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("reading " + path, errno);
    if (got == 0) return search.has_found();
    copied += got;
    if (copied > most_copied_bytes)
      return Error{Errc::rejected, path + " is greater than a plugin may be (4 GiB)"};
    const std::string_view bytes{part.data(), static_cast<std::size_t>(got)};
    search.see(bytes);
    NOMAD_TRY(write_all(to, bytes, copy));
  }
}

bool have_same_bytes(const std::string& one, const std::string& other) {
  const host::UniqueFd first{::open(one.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  const host::UniqueFd second{::open(other.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!first || !second) return false;
  std::vector<char> part(part_bytes), like(part_bytes);
  for (off_t at = 0; at < most_copied_bytes;) {
    const auto got = ::pread(first.get(), part.data(), part.size(), at);
    if (got < 0) return false;
    const auto bytes = static_cast<std::size_t>(got);
    if (::pread(second.get(), like.data(), std::max<std::size_t>(bytes, 1), at) != got
        || std::memcmp(part.data(), like.data(), bytes) != 0)
      return false;
    if (got == 0) return true;
    at += got;
  }
  return false;
}

bool is_elf(int file) {
  char magic[4] = {};
  return ::pread(file, magic, sizeof magic, 0) == sizeof magic
         && std::string_view{magic, sizeof magic} == elf_magic;
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  struct stat is {};

  return ::stat(path.c_str(), &is) == 0 ? stamp_from(is) : FileStamp{};
}

Result<std::shared_ptr<const PluginCopy>> PluginCopy::make(const std::string& path,
                                                           const std::string& directory) {
  static std::atomic<std::uint64_t> number{0};
  const host::UniqueFd from{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};

  struct stat is {};

  if (!from || ::fstat(from.get(), &is) != 0) return errno_error("opening " + path, errno);
  const auto made = [&](std::string what, bool is_own) {
    return std::shared_ptr<const PluginCopy>{
        new PluginCopy{std::move(what), stamp_from(is), is_own}};
  };
  if (!S_ISREG(is.st_mode) || !is_elf(from.get()) || !may_run_in(directory))
    return made(path, false);
  // In a folder of its own, so that the process has the name of the file.
  const auto folder = fmt::format("{}/{}", directory, ++number);
  const auto copy = fmt::format("{}/{}", folder, fs::path{path}.filename().string());
  if (::mkdir(folder.c_str(), 0711) != 0 || ::chmod(folder.c_str(), 0711) != 0)
    return errno_error("making " + folder, errno);
  auto own = made(copy, true);
  const host::UniqueFd to{
      ::open(copy.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!to) return errno_error("making " + copy, errno);
  const auto looks_beside = NOMAD_TRY(copy_bytes(from.get(), to.get(), path, copy));
  if (looks_beside) return made(path, false);
  if (::geteuid() == 0 && ::fchown(to.get(), is.st_uid, is.st_gid) != 0)
    return errno_error("giving away " + copy, errno);
  if (::fchmod(to.get(), is.st_mode & 0555) != 0) return errno_error("protecting " + copy, errno);
  return own;
}

bool PluginCopy::is_of(const std::string& path) const {
  const auto now = stamp_of(path);
  if (now == stamp_) return true;
  return is_own_ && now.size == stamp_.size && have_same_bytes(path, path_);
}

PluginCopy::~PluginCopy() {
  if (!is_own_) return;
  ::unlink(path_.c_str());
  ::rmdir(fs::path{path_}.parent_path().c_str());
}

void clear_copies(const std::string& directory) {
  const auto left = names_in(directory);
  if (!left) return;  // What can't be looked at is in nobody's way.
  for (const auto& name : *left) {
    std::error_code unknown;
    fs::remove_all(fs::path{directory} / name, unknown);
  }
}

}  // namespace nomad::plugin
