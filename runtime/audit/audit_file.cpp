#include "runtime/audit/audit_file.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/audit/event.hpp"
#include "runtime/base/files/bounded.hpp"
#include "runtime/base/text.hpp"

namespace nomad::audit {
namespace {

namespace fs = std::filesystem;

/// The end of a file, as far as the last line may reach back.
Result<std::string> end_of(int file, std::int64_t size) {
  constexpr auto most = static_cast<std::int64_t>(2 * longest_line);
  std::string end(static_cast<std::size_t>(std::min(size, most)), '\0');
  std::size_t have = 0;
  while (have < end.size()) {
    const auto at = size - static_cast<std::int64_t>(end.size() - have);
    const auto got = pread(file, end.data() + have, end.size() - have, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("audit log", errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  end.resize(have);
  return end;
}

/// As many as the name of a full file has of nanoseconds: other sinks' files have fewer in theirs.
constexpr std::size_t time_digits = 19;

std::string extension_of_log(const fs::path& path) {
  return path.has_extension() ? path.extension().string() : ".log";
}

}  // namespace

Error AuditFile::failed(int why) const {
  return errno_error(fmt::format("audit log \"{}\"", options_.path), why);
}

Result<AuditFile> AuditFile::open(FileOptions options, std::int64_t now) {
  AuditFile file{std::move(options)};
  const fs::path path{file.options_.path};
  std::error_code failure;
  const auto folder = path.parent_path();
  if (!folder.empty() && fs::create_directories(folder, failure) && !failure)
    fs::permissions(folder, fs::perms::owner_all, failure);
  if (failure) return file.failed(failure.value());
  NOMAD_TRY(file.begin(now));
  NOMAD_TRY(file.go_on_with(now));
  return file;
}

void AuditFile::note(std::int64_t now,
                     std::string_view stage,
                     const std::vector<std::pair<std::string_view, std::uint64_t>>& numbers) {
  notes_.push_back(note_text(now, stage, numbers));
}

/// Opens what there is, in place of the file that was open.
Result<> AuditFile::begin(std::int64_t now) {
  file_.reset();
  host::UniqueFd opened{::open(options_.path.c_str(),
                               O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                               options_.mode)};

  struct stat info {};

  if (!opened || fstat(opened.get(), &info) != 0) return failed(errno);
  if (!S_ISREG(info.st_mode))
    return Error{Errc::io, fmt::format("audit log \"{}\": is no regular file", options_.path)};
  if (flock(opened.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{Errc::io, fmt::format("audit log \"{}\": another agent writes it", options_.path)};
  file_ = std::move(opened);
  size_ = info.st_size;
  begun_ = size_ == 0 ? now
                      : std::min(now, std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000
                                          + info.st_mtim.tv_nsec);
  return {};
}

/// The same in a running process, whose chain goes on from what it wrote last, whatever the file
/// says: of that nothing is ours, as `notice_change` tells.
Result<> AuditFile::begin_anew(std::int64_t now) {
  NOMAD_TRY(begin(now));
  size_ = 0;
  is_torn_ = has_open_line_ = false;
  if (std::exchange(was_taken_, false)) note(now, "FileReplaced", {});
  return {};
}

/// Of a process that begins: the chain is what the files say.
Result<> AuditFile::go_on_with(std::int64_t now) {
  const auto end = NOMAD_TRY(end_of(file_.get(), size_));
  const auto tail = read_tail(end);
  if (tail.torn > 0) {
    size_ -= static_cast<std::int64_t>(tail.torn);
    if (ftruncate(file_.get(), size_) != 0) return failed(errno);
  }
  if (tail.last)
    last_ = {tail.last->number + tail.damaged, tail.last->hash};
  else
    NOMAD_TRY(go_on_after_full());
  note(now, "AuditStarted", {{"torn_bytes", tail.torn}, {"damaged_lines", tail.damaged}});
  return {};
}

/// Of a file without a line: the chain is that of the full one that has come furthest, which is not
/// the newest by its name where the clock was set back.
Result<> AuditFile::go_on_after_full() {
  for (const auto& path : NOMAD_TRY(full_files())) {
    const host::UniqueFd full{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};

    struct stat info {};

    if (!full || fstat(full.get(), &info) != 0) return failed(errno);
    const auto end = NOMAD_TRY(end_of(full.get(), info.st_size));
    if (const auto tail = read_tail(end); tail.last && tail.last->number >= last_.number)
      last_ = {tail.last->number + tail.damaged, tail.last->hash};
  }
  return {};
}

bool AuditFile::is_replaced() const {
  struct stat ours {};

  struct stat there {};

  if (fstat(file_.get(), &ours) != 0) return true;
  if (lstat(options_.path.c_str(), &there) != 0) return true;
  return ours.st_ino != there.st_ino || ours.st_dev != there.st_dev;
}

bool AuditFile::is_due(std::int64_t now) const {
  const auto& rotation = options_.rotation;
  const bool is_full = rotation.bytes > 0 && size_ >= rotation.bytes;
  const bool is_old = rotation.age.count() > 0 && now - begun_ >= rotation.age.count();
  return size_ > 0 && (is_full || is_old);
}

Result<std::vector<fs::path>> AuditFile::full_files() const {
  const fs::path path{options_.path};
  const auto start = path.stem().string() + '-';
  const auto folder = path.has_parent_path() ? path.parent_path() : fs::path{"."};
  std::vector<fs::path> full;
  for (const auto& name : NOMAD_TRY(names_in(folder.string()))) {
    const fs::path other{name};
    const auto stem = other.stem().string();
    if (stem.starts_with(start) && stem.size() == start.size() + time_digits
        && other.extension() == extension_of_log(path)
        && is_digits(std::string_view{stem}.substr(start.size())))
      full.push_back(folder / other);
  }
  std::sort(full.begin(), full.end());
  return full;
}

/// A file that cannot be renamed goes on, and is tried again when it is full or old anew.
Result<> AuditFile::rotate(std::int64_t now) {
  const fs::path path{options_.path};
  auto full = path;
  full.replace_filename(
      fmt::format("{}-{:0{}}{}", path.stem().string(), now, time_digits, extension_of_log(path)));
  if (::rename(path.c_str(), full.c_str()) != 0) {
    const auto why = failed(errno);
    begun_ = now;
    return why;
  }
  NOMAD_TRY(begin_anew(now));
  return remove_oldest();
}

Result<> AuditFile::remove_oldest() const {
  if (options_.rotation.max_files <= 0) return {};
  const auto full = NOMAD_TRY(full_files());
  std::error_code failure;
  for (std::size_t i = 0; i + static_cast<std::size_t>(options_.rotation.max_files) < full.size();
       ++i)
    if (!fs::remove(full[i], failure) && failure) return failed(failure.value());
  return {};
}

/// Somebody else wrote or cut the file: that is told, and what we write begins on a line of its
/// own. What is left of a batch that failed is cut.
Result<> AuditFile::notice_change(std::int64_t now) {
  struct stat info {};

  if (fstat(file_.get(), &info) != 0) return failed(errno);
  const bool was_torn = is_torn_ && info.st_size > size_;
  if (was_torn && ftruncate(file_.get(), size_) != 0) return failed(errno);
  is_torn_ = false;
  if (info.st_size == size_) return {};
  note(now, "FileChanged",
       {{"expected_bytes", static_cast<std::uint64_t>(size_)},
        {"bytes", static_cast<std::uint64_t>(info.st_size)}});
  if (was_torn) return {};
  size_ = info.st_size;
  char last = '\n';
  if (size_ > 0 && pread(file_.get(), &last, 1, size_ - 1) < 0) return failed(errno);
  has_open_line_ = last != '\n';
  return {};
}

Result<> AuditFile::append(const std::vector<std::string>& events, std::int64_t now) {
  if (file_ && is_replaced()) {
    was_taken_ = true;
    file_.reset();
  }
  if (!file_) NOMAD_TRY(begin_anew(now));
  NOMAD_TRY(notice_change(now));
  if (is_due(now)) {
    if (const auto rotated = rotate(now); !rotated) {
      log::warn("audit", "the audit log is not rotated", {{"error", rotated.error()}});
      if (!file_) return rotated.error();
    }
    NOMAD_TRY(notice_change(now));
  }
  auto last = last_;
  std::string bytes = has_open_line_ ? "\n" : "";
  for (const auto* each : {&std::as_const(notes_), &events})
    for (const auto& event : *each)
      bytes.append(seal(event, last)) += '\n';
  NOMAD_TRY(write(bytes));
  last_ = std::move(last);
  notes_.clear();
  has_open_line_ = false;
  return {};
}

Result<> AuditFile::write(const std::string& bytes) {
  std::string_view rest = bytes;
  int why = 0;
  while (!rest.empty() && why == 0) {
    const auto put = ::write(file_.get(), rest.data(), rest.size());
    if (put > 0)
      rest.remove_prefix(static_cast<std::size_t>(put));
    else if (put == 0 || errno != EINTR)
      why = put == 0 ? ENOSPC : errno;
  }
  if (why == 0 && options_.sync && fdatasync(file_.get()) != 0) why = errno;
  if (why == 0) {
    size_ += static_cast<std::int64_t>(bytes.size());
    return {};
  }
  is_torn_ = ftruncate(file_.get(), size_) != 0;
  return failed(why);
}

}  // namespace nomad::audit
