#include "runtime/disk/disk_snapshot.hpp"

#include <array>
#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "runtime/base/log.hpp"
#include "runtime/disk/tree.hpp"
#include "runtime/host/alloc_dir.hpp"

namespace nomad::disk {

namespace {

constexpr std::size_t piece_bytes = 256 * 1024;
constexpr std::size_t deepest = 512;  ///< Each level keeps a descriptor while it is read.

using Entry = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

Error archive_error(archive* of, std::string_view attempt) {
  const char* const text = ::archive_error_string(of);
  return {Errc::io, std::string{attempt} + ": " + (text != nullptr ? text : "unknown error")};
}

}  // namespace

std::string error_member(std::string_view alloc_id) {
  return "NOMAD-" + std::string{alloc_id} + "-ERROR.log";
}

struct DiskSnapshot::Work {
  /// A directory that is being read.
  struct Level {
    host::UniqueFd directory;
    std::string path;
    std::vector<std::string> names;
    std::size_t next = 0;
  };

  /// A file that is being sent.
  struct SentFile {
    host::UniqueFd descriptor;
    std::string path;
    std::uint64_t left = 0;
  };

  std::string root;
  std::string alloc_id;
  std::vector<std::vector<std::string>> trees;  ///< Paths of what is to be sent, in parts.
  host::UniqueFd top;
  std::unique_ptr<archive, int (*)(archive*)> tar{nullptr, ::archive_write_free};
  std::vector<Level> levels;
  std::optional<SentFile> file;
  std::string out;  ///< What the archive has written and nobody has taken.
  bool over = false;

  Result<> open_archive();
  Result<> step();
  Result<> begin_tree(const std::vector<std::string>& parts);
  Result<> enter(host::UniqueFd directory, std::string path);
  Result<> visit(int parent, const std::string& name, const std::string& path);
  Result<> send_file();
  Result<> write_header(const struct stat& status,
                        const std::string& path,
                        const char* link = nullptr);
  Result<> write_error(const std::string& what);
  Result<> close();
};

Result<> DiskSnapshot::Work::open_archive() {
  tar.reset(::archive_write_new());
  if (!tar) return Error{Errc::internal, "out of memory"};
  // Names are bytes, whatever their encoding, of any length; sizes have no bound.
  ::archive_write_set_format_gnutar(tar.get());
  ::archive_write_add_filter_none(tar.get());
  ::archive_write_set_bytes_per_block(tar.get(), 0);
  const auto take = [](archive*, void* work, const void* bytes, std::size_t size) -> la_ssize_t {
    static_cast<Work*>(work)->out.append(static_cast<const char*>(bytes), size);
    return static_cast<la_ssize_t>(size);
  };
  if (::archive_write_open(tar.get(), this, nullptr, take, nullptr) != ARCHIVE_OK)
    return archive_error(tar.get(), "making an archive");
  return {};
}

Result<> DiskSnapshot::Work::step() {
  if (file) return send_file();
  if (!levels.empty()) {
    auto& level = levels.back();
    if (level.next == level.names.size()) {
      levels.pop_back();
      return {};
    }
    const auto name = level.names[level.next++];
    const auto path = level.path + '/' + name;
    return visit(level.directory.get(), name, path);
  }
  if (trees.empty()) return close();
  const auto parts = std::move(trees.front());
  trees.erase(trees.begin());
  return begin_tree(parts);
}

Result<> DiskSnapshot::Work::begin_tree(const std::vector<std::string>& parts) {
  host::UniqueFd directory{::dup(top.get())};
  std::string path;
  for (const auto& part : parts) {
    auto below = open_directory(directory.get(), part.c_str());
    if (!below && errno == ENOENT) return {};
    path += (path.empty() ? "" : "/") + part;
    if (!below) return errno_error("opening " + path, errno);
    directory = std::move(below);
  }
  return enter(std::move(directory), std::move(path));
}

Result<> DiskSnapshot::Work::enter(host::UniqueFd directory, std::string path) {
  struct stat status {};

  if (levels.size() >= deepest)
    return Error{Errc::too_large, path + " is deeper than " + std::to_string(deepest) + " levels"};
  if (::fstat(directory.get(), &status) != 0) return errno_error("reading " + path, errno);
  NOMAD_TRY(write_header(status, path));
  auto names = NOMAD_TRY(entries_of(directory.get()).within(path));
  levels.push_back({std::move(directory), std::move(path), std::move(names)});
  return {};
}

Result<> DiskSnapshot::Work::visit(int parent, const std::string& name, const std::string& path) {
  struct stat status {};

  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return errno_error("reading " + path, errno);
  if (S_ISDIR(status.st_mode)) {
    auto directory = open_directory(parent, name.c_str());
    if (!directory) return errno_error("opening " + path, errno);
    return enter(std::move(directory), path);
  }
  if (S_ISLNK(status.st_mode)) {
    std::array<char, 4097> target{};
    const auto size = ::readlinkat(parent, name.c_str(), target.data(), target.size() - 1);
    if (size < 0) return errno_error("reading the link " + path, errno);
    return write_header(status, path, target.data());
  }
  if (!S_ISREG(status.st_mode)) return {};  // Sockets, pipes and devices are no data.
  host::UniqueFd opened{
      ::openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (!opened || ::fstat(opened.get(), &status) != 0) return errno_error("opening " + path, errno);
  if (!S_ISREG(status.st_mode)) return {};
  NOMAD_TRY(write_header(status, path));
  if (status.st_size > 0)
    file = SentFile{std::move(opened), path, static_cast<std::uint64_t>(status.st_size)};
  return {};
}

Result<> DiskSnapshot::Work::send_file() {
  std::array<char, 64 * 1024> buffer;
  const auto wanted = std::min<std::uint64_t>(buffer.size(), file->left);
  const auto got = ::read(file->descriptor.get(), buffer.data(), wanted);
  if (got <= 0) {
    const auto why = got < 0 ? errno_error("reading " + file->path, errno)
                             : Error{Errc::io, file->path + " has become shorter"};
    file.reset();
    return why;
  }
  if (::archive_write_data(tar.get(), buffer.data(), static_cast<std::size_t>(got)) < 0)
    return archive_error(tar.get(), "sending " + file->path);
  file->left -= static_cast<std::uint64_t>(got);
  if (file->left == 0) file.reset();
  return {};
}

Result<> DiskSnapshot::Work::write_header(const struct stat& status,
                                          const std::string& path,
                                          const char* link) {
  const Entry entry{::archive_entry_new(), ::archive_entry_free};
  ::archive_entry_copy_stat(entry.get(), &status);
  ::archive_entry_set_nlink(entry.get(), 1);  // Two names of one file are sent as two files.
  ::archive_entry_copy_pathname(entry.get(), path.c_str());
  if (link != nullptr) ::archive_entry_copy_symlink(entry.get(), link);
  if (::archive_write_header(tar.get(), entry.get()) < ARCHIVE_WARN)
    return archive_error(tar.get(), "sending " + path);
  return {};
}

Result<> DiskSnapshot::Work::write_error(const std::string& what) {
  levels.clear();
  trees.clear();
  file.reset();

  struct stat status {};

  status.st_mode = S_IFREG | 0666;
  status.st_size = static_cast<off_t>(what.size());
  NOMAD_TRY(write_header(status, error_member(alloc_id)));
  if (::archive_write_data(tar.get(), what.data(), what.size()) < 0)
    return archive_error(tar.get(), "sending an error");
  return {};
}

Result<> DiskSnapshot::Work::close() {
  over = true;
  if (::archive_write_close(tar.get()) != ARCHIVE_OK)
    return archive_error(tar.get(), "ending an archive");
  return {};
}

DiskSnapshot::DiskSnapshot(std::unique_ptr<Work> work) : work_{std::move(work)} {}

DiskSnapshot::DiskSnapshot(DiskSnapshot&&) noexcept = default;
DiskSnapshot& DiskSnapshot::operator=(DiskSnapshot&&) noexcept = default;
DiskSnapshot::~DiskSnapshot() = default;

Result<DiskSnapshot> DiskSnapshot::open(std::string root,
                                        std::string alloc_id,
                                        std::vector<std::string> tasks) {
  auto work = std::make_unique<Work>();
  work->top = open_directory(AT_FDCWD, root.c_str());
  if (!work->top) return errno_error("opening " + root, errno, Errc::not_found);
  work->root = std::move(root);
  work->alloc_id = std::move(alloc_id);
  work->trees.push_back({"alloc", "data"});
  for (auto& task : tasks) {
    NOMAD_TRY(host::check_task_name(task));
    work->trees.push_back({std::move(task), "local"});
  }
  NOMAD_TRY(work->open_archive());
  return DiskSnapshot{std::move(work)};
}

Result<std::string> DiskSnapshot::next() {
  bool failed = false;
  while (work_->out.size() < piece_bytes && !work_->over) {
    const auto done = work_->step();
    if (done) continue;
    if (failed || work_->over) return done.error();
    failed = true;
    log::warn("client", "the disk of the allocation is not sent whole",
              {{"alloc", work_->alloc_id}, {"error", done.error()}});
    NOMAD_TRY(work_->write_error(done.error().what));
  }
  return std::exchange(work_->out, {});
}

}  // namespace nomad::disk
