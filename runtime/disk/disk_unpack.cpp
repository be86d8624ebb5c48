#include "runtime/disk/disk_unpack.hpp"

#include <cerrno>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "runtime/base/text.hpp"
#include "runtime/disk/disk_snapshot.hpp"
#include "runtime/disk/tree.hpp"

namespace nomad::disk {

namespace {

constexpr mode_t permissions = 0777;
constexpr std::size_t longest_error = 4096;
constexpr std::uint64_t look_at_room_every = std::uint64_t{16} << 20;

class Unpacker {
public:
  Unpacker(const Source& source,
           const std::string& alloc_id,
           const std::stop_token& stopped,
           const UnpackLimits& limits)
      : source_{source},
        error_member_{error_member(alloc_id)},
        stopped_{stopped},
        limits_{limits} {}

  Result<> run(const std::string& directory);

private:
  /// Modes of directories are set at the end: one may forbid writing into it.
  struct Made {
    std::vector<std::string> path;
    mode_t mode;
    uid_t uid;
    gid_t gid;
  };

  static la_ssize_t pull(archive*, void* unpacker, const void** bytes);
  Error reading_failed();
  Result<> take(archive_entry* entry);
  Result<host::UniqueFd> open_parent(const std::vector<std::string>& path) const;
  Result<> take_file(int parent, const std::string& name, archive_entry* entry);
  Result<> finish_directories() const;
  Result<> check_room();
  Result<std::string> read_error();

  const Source& source_;
  const std::string error_member_;
  const std::stop_token& stopped_;
  const UnpackLimits& limits_;
  host::UniqueFd top_;
  std::unique_ptr<archive, int (*)(archive*)> tar_{nullptr, ::archive_read_free};
  std::string piece_;
  Result<> source_failure_;
  std::vector<Made> directories_;
  std::uint64_t entries_ = 0;
  std::uint64_t since_look_ = look_at_room_every;
  const bool as_root_ = ::geteuid() == 0;
};

la_ssize_t Unpacker::pull(archive* tar, void* unpacker, const void** bytes) {
  auto& self = *static_cast<Unpacker*>(unpacker);
  auto piece = self.stopped_.stop_requested()
                   ? Result<std::string>{Error{Errc::cancelled, "cancelled"}}
                   : self.source_();
  if (!piece) {
    self.source_failure_ = piece.error();
    ::archive_set_error(tar, EIO, "%s", "the source failed");
    return -1;
  }
  self.piece_ = std::move(*piece);
  *bytes = self.piece_.data();
  return static_cast<la_ssize_t>(self.piece_.size());
}

Error Unpacker::reading_failed() {
  if (!source_failure_) return source_failure_.error();
  const char* const text = ::archive_error_string(tar_.get());
  return {Errc::corrupt,
          std::string{"the archive cannot be read: "} + (text != nullptr ? text : "unknown error")};
}

Result<> Unpacker::run(const std::string& directory) {
  top_ = open_directory(AT_FDCWD, directory.c_str());
  if (!top_) return errno_error("opening " + directory, errno);
  tar_.reset(::archive_read_new());
  if (!tar_) return Error{Errc::internal, "out of memory"};
  ::archive_read_support_filter_none(tar_.get());
  ::archive_read_support_format_tar(tar_.get());
  if (::archive_read_open(tar_.get(), this, nullptr, pull, nullptr) != ARCHIVE_OK)
    return reading_failed();
  for (;;) {
    archive_entry* entry = nullptr;
    const int outcome = ::archive_read_next_header(tar_.get(), &entry);
    if (outcome == ARCHIVE_EOF) break;
    if (outcome < ARCHIVE_WARN) return reading_failed();
    NOMAD_TRY(take(entry));
  }
  if (!source_failure_) return source_failure_.error();
  return finish_directories();
}

Result<> Unpacker::take(archive_entry* entry) {
  if (++entries_ > limits_.entries)
    return Error{Errc::overloaded,
                 "the archive has more than " + std::to_string(limits_.entries) + " files"};
  const char* const name = ::archive_entry_pathname(entry);
  const auto path = NOMAD_TRY(split_path(name == nullptr ? "" : name));
  if (path.size() == 1 && path.front() == error_member_) {
    const auto why = NOMAD_TRY(read_error());
    return Error{Errc::unavailable, "the node that has it failed to send it: " + why};
  }
  const auto type = ::archive_entry_filetype(entry);
  const bool hard_link = ::archive_entry_hardlink(entry) != nullptr;
  if (hard_link || (type != AE_IFDIR && type != AE_IFLNK && type != AE_IFREG)) return {};
  NOMAD_TRY(check_room());
  const auto parent = NOMAD_TRY(open_parent(path));
  if (type == AE_IFREG) return take_file(parent.get(), path.back(), entry);
  const auto uid = static_cast<uid_t>(::archive_entry_uid(entry));
  const auto gid = static_cast<gid_t>(::archive_entry_gid(entry));
  if (type == AE_IFDIR) {
    NOMAD_TRY(make_directory(parent.get(), path.back(), 0700));
    directories_.push_back({path, ::archive_entry_perm(entry) & permissions, uid, gid});
    return {};
  }
  const char* const target = ::archive_entry_symlink(entry);
  if (::symlinkat(target == nullptr ? "" : target, parent.get(), path.back().c_str()) != 0)
    return errno_error(std::string{"making the link "} + name, errno);
  if (as_root_ && ::fchownat(parent.get(), path.back().c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) != 0)
    return errno_error(std::string{"giving away the link "} + name, errno);
  return {};
}

/// Makes what is missing above; no link is followed, so that one that was unpacked leads nowhere.
Result<host::UniqueFd> Unpacker::open_parent(const std::vector<std::string>& path) const {
  host::UniqueFd parent{::dup(top_.get())};
  for (std::size_t i = 0; i + 1 < path.size(); ++i)
    parent = NOMAD_TRY(make_directory(parent.get(), path[i], 0700));
  return parent;
}

Result<> Unpacker::take_file(int parent, const std::string& name, archive_entry* entry) {
  const host::UniqueFd file{
      ::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!file) return errno_error("making the file " + name, errno);
  const void* bytes = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  for (;;) {
    const int outcome = ::archive_read_data_block(tar_.get(), &bytes, &size, &offset);
    if (outcome == ARCHIVE_EOF) break;
    if (outcome < ARCHIVE_WARN) return reading_failed();
    since_look_ += size;
    NOMAD_TRY(check_room());
    const auto* from = static_cast<const char*>(bytes);
    while (size > 0) {
      const auto written = ::pwrite(file.get(), from, size, offset);
      if (written < 0) return errno_error("writing the file " + name, errno);
      from += written;
      size -= static_cast<std::size_t>(written);
      offset += written;
    }
  }
  const auto length = static_cast<off_t>(::archive_entry_size(entry));  // It may end in a hole.
  if (::ftruncate(file.get(), length) != 0) return errno_error("writing the file " + name, errno);
  if (as_root_
      && ::fchown(file.get(), static_cast<uid_t>(::archive_entry_uid(entry)),
                  static_cast<gid_t>(::archive_entry_gid(entry)))
             != 0)
    return errno_error("giving away the file " + name, errno);
  if (::fchmod(file.get(), ::archive_entry_perm(entry) & permissions) != 0)
    return errno_error("changing the mode of " + name, errno);
  return {};
}

Result<> Unpacker::finish_directories() const {
  for (auto made = directories_.rbegin(); made != directories_.rend(); ++made) {
    const auto parent = NOMAD_TRY(open_parent(made->path));
    const auto directory = open_directory(parent.get(), made->path.back().c_str());
    if (!directory) return errno_error("opening " + made->path.back(), errno);
    if (as_root_ && ::fchown(directory.get(), made->uid, made->gid) != 0)
      return errno_error("giving away " + made->path.back(), errno);
    if (::fchmod(directory.get(), made->mode) != 0)
      return errno_error("changing the mode of " + made->path.back(), errno);
  }
  return {};
}

Result<> Unpacker::check_room() {
  if (since_look_ < look_at_room_every) return {};
  since_look_ = 0;

  struct statvfs room {};

  if (::fstatvfs(top_.get(), &room) != 0 || room.f_blocks == 0) return {};  // None to look at.
  const auto free = static_cast<double>(room.f_bavail) * 100 / static_cast<double>(room.f_blocks);
  if (free >= limits_.free_percent) return {};
  return Error{Errc::overloaded, "less than "
                                     + std::to_string(static_cast<int>(limits_.free_percent))
                                     + " % of the disk would be free"};
}

Result<std::string> Unpacker::read_error() {
  std::string text(longest_error, '\0');
  const auto size = ::archive_read_data(tar_.get(), text.data(), text.size());
  if (size < 0) return reading_failed();
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace

Result<> unpack_disk(const Source& source,
                     const std::string& directory,
                     const std::string& alloc_id,
                     const std::stop_token& stopped,
                     const UnpackLimits& limits) {
  return Unpacker{source, alloc_id, stopped, limits}.run(directory);
}

}  // namespace nomad::disk
