#include "runtime/artifact/fetcher/unpack.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "runtime/host/process/unique_fd.hpp"

namespace nomad::artifact {
namespace {

using host::UniqueFd;

constexpr std::size_t block_bytes = 128 * 1024;
constexpr mode_t file_mode = 0644;
constexpr mode_t directory_mode = 0755;

class Unpacker {
public:
  Unpacker(std::string archive, ArchiveKind kind, const UnpackLimits& limits, std::uint64_t packed)
      : name_{std::move(archive)}, kind_{kind}, policy_{limits, packed} {}

  Result<> open();
  Result<> into_directory(const std::string& directory);
  Result<> into_file(const std::string& file);

  std::uint64_t members() const { return policy_.members(); }

private:
  /// Modes and times of directories are set at the end: a mode may forbid writing into it.
  struct Made {
    std::vector<std::string> path;
    mode_t mode;
    timespec modified;
  };

  Error reading_failed() const;
  Result<archive_entry*> next();
  Result<> take(archive_entry* entry);
  Result<UniqueFd> open_parent(const std::vector<std::string>& path) const;
  Result<> take_content(int file, archive_entry* entry);
  Result<> make_file(int parent, const std::string& name, archive_entry* entry, mode_t mode);
  Result<> make_hard_link(int parent, const std::string& name, const Admitted& admitted) const;
  Result<> finish_directories() const;

  std::string name_;
  ArchiveKind kind_;
  UnpackPolicy policy_;
  std::unique_ptr<archive, int (*)(archive*)> archive_{nullptr, ::archive_read_free};
  UniqueFd top_;
  std::vector<Made> directories_;
};

Error io(std::string_view what, std::string_view name) {
  return errno_error(std::string{what} + " " + std::string{name}, errno);
}

/// Makes the directory, or opens the one that is there; never through a link.
Result<UniqueFd> make_directory(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), directory_mode) != 0 && errno != EEXIST)
    return io("making the directory", name);
  UniqueFd made{::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!made) return io("opening the directory", name);
  return made;
}

timespec modified_of(archive_entry* entry) {
  if (::archive_entry_mtime_is_set(entry) == 0 || ::archive_entry_mtime(entry) <= 0)
    return {0, UTIME_NOW};
  return {::archive_entry_mtime(entry), ::archive_entry_mtime_nsec(entry)};
}

void set_modified(int file, timespec modified) {
  const timespec times[2]{{0, UTIME_NOW}, modified};
  ::futimens(file, times);  // A time that the file system can't keep is no harm.
}

Member member_of(archive_entry* entry) {
  Member member;
  const char* const path = ::archive_entry_pathname(entry);
  const char* const hard = ::archive_entry_hardlink(entry);
  const char* const symbolic = ::archive_entry_symlink(entry);
  member.path = path == nullptr ? "" : path;
  member.mode = ::archive_entry_perm(entry);
  if (hard != nullptr) {
    member.kind = Member::Kind::hard_link;
    member.target = hard;
    return member;
  }
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG:
      member.kind = Member::Kind::file;
      break;
    case AE_IFDIR:
      member.kind = Member::Kind::directory;
      break;
    case AE_IFLNK:
      member.kind = Member::Kind::symbolic_link;
      member.target = symbolic == nullptr ? "" : symbolic;
      break;
    default:
      member.kind = Member::Kind::other;
  }
  return member;
}

Result<> Unpacker::open() {
  archive_.reset(::archive_read_new());
  auto* const reader = archive_.get();
  if (reader == nullptr) return Error{Errc::internal, "out of memory"};
  switch (kind_.filter) {
    case ArchiveKind::Filter::none:
      break;
    case ArchiveKind::Filter::gzip:
      ::archive_read_support_filter_gzip(reader);
      break;
    case ArchiveKind::Filter::bzip2:
      ::archive_read_support_filter_bzip2(reader);
      break;
    case ArchiveKind::Filter::xz:
      ::archive_read_support_filter_xz(reader);
      break;
    case ArchiveKind::Filter::zstd:
      ::archive_read_support_filter_zstd(reader);
      break;
  }
  switch (kind_.container) {
    case ArchiveKind::Container::tar:
      ::archive_read_support_format_tar(reader);
      break;
    case ArchiveKind::Container::zip:
      ::archive_read_support_format_zip(reader);
      break;
    case ArchiveKind::Container::none:
      ::archive_read_support_format_raw(reader);
      break;
  }
  if (::archive_read_open_filename(reader, name_.c_str(), block_bytes) != ARCHIVE_OK)
    return reading_failed();
  return {};
}

Error Unpacker::reading_failed() const {
  const char* const text = ::archive_error_string(archive_.get());
  return {Errc::corrupt, "the " + std::string{kind_.name} + " archive cannot be read: "
                             + (text != nullptr ? text : "unknown error")};
}

/// Null at the end.
Result<archive_entry*> Unpacker::next() {
  archive_entry* entry = nullptr;
  const int outcome = ::archive_read_next_header(archive_.get(), &entry);
  if (outcome == ARCHIVE_EOF) return nullptr;
  if (outcome < ARCHIVE_WARN) return reading_failed();
  return entry;
}

Result<> Unpacker::into_directory(const std::string& directory) {
  top_.reset(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top_) return io("opening", directory);
  for (;;) {
    auto* const entry = NOMAD_TRY(next());
    if (entry == nullptr) break;
    NOMAD_TRY(take(entry));
  }
  if (policy_.members() == 0) return Error{Errc::corrupt, "empty archive"};
  return finish_directories();
}

Result<> Unpacker::into_file(const std::string& file) {
  const UniqueFd made{
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, file_mode)};
  if (!made) return io("making the file", file);
  bool has_file = false;
  for (;;) {
    auto* const entry = NOMAD_TRY(next());
    if (entry == nullptr) break;
    const bool is_file
        = ::archive_entry_filetype(entry) == AE_IFREG && ::archive_entry_hardlink(entry) == nullptr;
    if (has_file || !is_file)
      return Error{Errc::rejected,
                   "expected a single file in the archive: set mode = \"dir\" to "
                   "unpack all of it"};
    has_file = true;
    if (kind_.holds_one_file() && ::archive_filter_code(archive_.get(), 0) == ARCHIVE_FILTER_NONE)
      return Error{Errc::corrupt, "the file is not compressed as " + std::string{kind_.name}};
    mode_t mode = file_mode;
    if (!kind_.holds_one_file()) {
      auto member = member_of(entry);
      member.path = "file";  // Its own name is of no importance.
      mode = NOMAD_TRY(policy_.admit(member)).mode;
    }
    NOMAD_TRY(take_content(made.get(), entry));
    if (::fchmod(made.get(), mode) != 0) return io("changing the mode of", file);
  }
  if (!has_file) return Error{Errc::corrupt, "empty archive"};
  return {};
}

Result<> Unpacker::take(archive_entry* entry) {
  const auto member = member_of(entry);
  const auto admitted = NOMAD_TRY(policy_.admit(member));
  if (admitted.path.empty()) return {};
  const auto parent = NOMAD_TRY(open_parent(admitted.path));
  const auto& name = admitted.path.back();
  if (member.kind == Member::Kind::directory) {
    NOMAD_TRY(make_directory(parent.get(), name));
    directories_.push_back({admitted.path, admitted.mode, modified_of(entry)});
    return {};
  }
  if (::unlinkat(parent.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    return io("replacing", member.path);
  if (member.kind == Member::Kind::file) return make_file(parent.get(), name, entry, admitted.mode);
  if (member.kind == Member::Kind::hard_link) return make_hard_link(parent.get(), name, admitted);
  if (::symlinkat(std::string{member.target}.c_str(), parent.get(), name.c_str()) != 0)
    return io("making the link", member.path);
  return {};
}

/// Makes what is missing above.
Result<UniqueFd> Unpacker::open_parent(const std::vector<std::string>& path) const {
  UniqueFd parent{::fcntl(top_.get(), F_DUPFD_CLOEXEC, 0)};
  for (std::size_t i = 0; i + 1 < path.size(); ++i)
    parent = NOMAD_TRY(make_directory(parent.get(), path[i]));
  return parent;
}

Result<> Unpacker::make_file(int parent,
                             const std::string& name,
                             archive_entry* entry,
                             mode_t mode) {
  const UniqueFd file{
      ::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!file) return io("making the file", name);
  NOMAD_TRY(take_content(file.get(), entry));
  if (::fchmod(file.get(), mode) != 0) return io("changing the mode of", name);
  set_modified(file.get(), modified_of(entry));
  return {};
}

/// The declared size counts before anything is written, and what comes beyond it as it comes.
Result<> Unpacker::take_content(int file, archive_entry* entry) {
  const bool declared = ::archive_entry_size_is_set(entry) != 0 && ::archive_entry_size(entry) > 0;
  auto counted = declared ? static_cast<std::uint64_t>(::archive_entry_size(entry)) : 0;
  NOMAD_TRY(policy_.add(counted));
  const void* bytes = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  std::uint64_t end = 0;
  for (;;) {
    const int outcome = ::archive_read_data_block(archive_.get(), &bytes, &size, &offset);
    if (outcome == ARCHIVE_EOF) break;
    if (outcome < ARCHIVE_WARN) return reading_failed();
    end = std::max(end, static_cast<std::uint64_t>(offset) + size);
    if (end > counted) NOMAD_TRY(policy_.add(end - std::exchange(counted, end)));
    const auto* from = static_cast<const char*>(bytes);
    while (size > 0) {
      const auto written = ::pwrite(file, from, size, offset);
      if (written < 0) return io("writing", "a file of the archive");
      from += written;
      size -= static_cast<std::size_t>(written);
      offset += written;
    }
  }
  if (declared) end = std::max(end, static_cast<std::uint64_t>(::archive_entry_size(entry)));
  if (::ftruncate(file, static_cast<off_t>(end)) != 0)  // It may end in a hole.
    return io("writing", "a file of the archive");
  return {};
}

Result<> Unpacker::make_hard_link(int parent,
                                  const std::string& name,
                                  const Admitted& admitted) const {
  const auto of = NOMAD_TRY(open_parent(admitted.target));

  struct stat status {};

  if (::fstatat(of.get(), admitted.target.back().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return io("looking for what is linked by", name);
  if (!S_ISREG(status.st_mode))
    return Error{Errc::rejected, "the archive's member \"" + name + "\" is a hard link to no file"};
  if (::linkat(of.get(), admitted.target.back().c_str(), parent, name.c_str(), 0) != 0)
    return io("making the hard link", name);
  return {};
}

Result<> Unpacker::finish_directories() const {
  for (auto made = directories_.rbegin(); made != directories_.rend(); ++made) {
    const auto parent = NOMAD_TRY(open_parent(made->path));
    const UniqueFd directory{::openat(parent.get(), made->path.back().c_str(),
                                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!directory) return io("opening", made->path.back());
    if (::fchmod(directory.get(), made->mode) != 0)
      return io("changing the mode of", made->path.back());
    set_modified(directory.get(), made->modified);
  }
  return {};
}

Result<std::uint64_t> size_of(const std::string& file) {
  struct stat status {};

  if (::stat(file.c_str(), &status) != 0) return io("looking at", file);
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

Result<std::uint64_t> unpack(const std::string& archive,
                             ArchiveKind kind,
                             const std::string& directory,
                             const UnpackLimits& limits) {
  if (kind.holds_one_file())
    return Error{Errc::rejected, std::string{kind.name}
                                     + "-compressed files can only unarchive to a single file: "
                                       "set mode = \"file\""};
  Unpacker unpacker{archive, kind, limits, NOMAD_TRY(size_of(archive))};
  NOMAD_TRY(unpacker.open());
  NOMAD_TRY(unpacker.into_directory(directory));
  return unpacker.members();
}

Result<> unpack_file(const std::string& archive,
                     ArchiveKind kind,
                     const std::string& into,
                     const UnpackLimits& limits) {
  Unpacker unpacker{archive, kind, limits, NOMAD_TRY(size_of(archive))};
  NOMAD_TRY(unpacker.open());
  return unpacker.into_file(into);
}

}  // namespace nomad::artifact
