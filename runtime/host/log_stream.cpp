// The half of file_stream.hpp that reads a task's rotated logs.
#include <algorithm>
#include <cerrno>
#include <limits>

#include <unistd.h>

#include "runtime/host/executor/log_writer.hpp"
#include "runtime/host/file_stream.hpp"

namespace nomad::host {

namespace {

constexpr const char* logs = "alloc/logs";

std::string base_of(std::string_view task, LogType type) {
  return std::string{task} + (type == LogType::stdout_log ? ".stdout" : ".stderr");
}

const LogFile* at_or_after(const std::vector<LogFile>& files, std::uint64_t index) {
  auto found = std::lower_bound(
      files.begin(), files.end(), index,
      [](const LogFile& file, std::uint64_t wanted) { return file.index < wanted; });
  return found == files.end() ? nullptr : &*found;
}

/// Those of a directory with too many entries to look through: by their names, from the first on.
std::vector<LogFile> probe_log_files(const Beneath& directory, const std::string& base) {
  std::vector<LogFile> files;
  for (std::uint64_t index = 0; index < max_log_files; ++index) {
    auto name = base + '.' + std::to_string(index);
    const auto file = directory.stat(std::string{logs} + '/' + name);
    if (file && file->mode.front() == '-')
      files.push_back({index, std::move(name), file->size, file->modified});
  }
  return files;
}

}  // namespace

Result<LogType> parse_log_type(std::string_view text) {
  if (text == "stdout") return LogType::stdout_log;
  if (text == "stderr") return LogType::stderr_log;
  return Error{Errc::invalid_argument, "log type must be stdout or stderr"};
}

Result<std::vector<LogFile>> list_log_files(const Beneath& directory,
                                            std::string_view task,
                                            LogType type,
                                            std::size_t max_names) {
  const auto base = base_of(task, type);
  // A task may put any number of files there.
  auto listed = directory.list(logs, {.most = max_log_files,
                                      .max_names = max_names,
                                      .wanted =
                                          [](std::string_view name, std::string_view of) {
                                            return executor::log_index(name, of).has_value();
                                          },
                                      .of = base});
  if (!listed && listed.error().code == Errc::too_large)
    if (auto files = probe_log_files(directory, base); !files.empty()) return files;
  auto entries = NOMAD_TRY(std::move(listed));
  if (!entries.next.empty())
    return Error{Errc::too_large, std::string{logs} + " has more than "
                                      + std::to_string(max_log_files) + " files of " + base};
  std::vector<LogFile> files;
  for (FileInfo& entry : entries.files) {
    const auto index = executor::log_index(entry.name, base);
    if (index && entry.mode.front() == '-')
      files.push_back({*index, std::move(entry.name), entry.size, entry.modified});
  }
  std::sort(files.begin(), files.end(),
            [](const LogFile& a, const LogFile& b) { return a.index < b.index; });
  return files;
}

std::optional<LogPosition> locate(const std::vector<LogFile>& files,
                                  Origin origin,
                                  std::uint64_t offset) {
  if (files.empty()) return std::nullopt;
  if (origin == Origin::start) {
    for (const LogFile& file : files) {
      if (offset < file.size) return LogPosition{file.index, offset};
      offset -= file.size;
    }
    return LogPosition{files.back().index, files.back().size};
  }
  if (offset == 0) return LogPosition{files.back().index, 0};
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (offset <= file->size) return LogPosition{file->index, file->size - offset};
    offset -= file->size;
  }
  return LogPosition{files.front().index, 0};
}

Result<LogStream> LogStream::open(const Beneath& directory,
                                  std::string task,
                                  LogType type,
                                  const StreamOptions& options) {
  auto files = NOMAD_TRY(list_log_files(directory, task, type));
  auto position = locate(files, options.origin, options.offset);
  if (!position) {
    return Error{Errc::not_found, "log entry for task \"" + task + "\" and log type \""
                                      + (type == LogType::stdout_log ? "stdout" : "stderr")
                                      + "\" not found"};
  }
  LogStream stream;
  stream.directory_ = &directory;
  stream.task_ = std::move(task);
  stream.type_ = type;
  stream.follow_ = options.follow;
  stream.limited_ = options.limit != 0;
  stream.remaining_ = options.limit;
  stream.last_index_ = files.back().index;
  NOMAD_TRY(stream.open_from(position->index, position->offset));
  return stream;
}

LogStream::LogStream(LogStream&& other) noexcept
    : directory_(other.directory_),
      task_(std::move(other.task_)),
      type_(other.type_),
      current_(std::move(other.current_)),
      file_(std::move(other.file_)),
      offset_(other.offset_),
      last_index_(other.last_index_),
      remaining_(other.remaining_),
      limited_(other.limited_),
      follow_(other.follow_),
      finished_(other.finished_),
      watcher_(std::exchange(other.watcher_, nullptr)),
      changed_(std::move(other.changed_)),
      file_watch_(other.file_watch_),
      directory_watch_(other.directory_watch_) {}

LogStream::~LogStream() {
  if (watcher_ == nullptr) return;
  watcher_->unwatch(file_watch_);
  watcher_->unwatch(directory_watch_);
}

// Opens the file `index` or, if it has been rotated away, the next that is there, from its start.
Result<> LogStream::open_from(std::uint64_t index, std::uint64_t offset) {
  constexpr int tries = 16;  // files may be removed faster than we open them
  for (int i = 0; i < tries; ++i) {
    auto files = NOMAD_TRY(list_log_files(*directory_, task_, type_));
    const LogFile* next = at_or_after(files, index);
    if (next == nullptr) return Error{Errc::not_found, "the log files have gone"};
    auto file = directory_->open_file(std::string{logs} + '/' + next->name);
    if (file.has_error() && file.error().code == Errc::not_found) continue;
    if (file.has_error()) return file.error();
    file_ = std::move(*file);
    offset_ = next->index == index ? offset : 0;
    current_ = *next;
    return watch_file();
  }
  return Error{Errc::overloaded, "the log files are rotated too quickly to be read"};
}

Result<> LogStream::watch_file() {
  if (watcher_ == nullptr) return {};
  watcher_->unwatch(file_watch_);
  file_watch_ = NOMAD_TRY(watcher_->watch(file_.descriptor.get(), changed_));
  return {};
}

Result<> LogStream::watch(FileWatcher& watcher, std::function<void()> changed) {
  if (!follow_ || watcher_ != nullptr) return {};
  auto directory = NOMAD_TRY(directory_->open_directory(logs));
  auto watch = NOMAD_TRY(watcher.watch(directory.get(), changed));
  watcher_ = &watcher;
  directory_watch_ = watch;
  changed_ = std::move(changed);
  return watch_file();
}

void LogStream::stop_following() {
  follow_ = false;
  last_index_ = std::numeric_limits<std::uint64_t>::max();
}

// At the end of a file: goes to the next one if it is there. False if it is not.
Result<bool> LogStream::advance() {
  if (!follow_ && current_.index >= last_index_) {
    finished_ = true;
    return false;
  }
  auto files = NOMAD_TRY(list_log_files(*directory_, task_, type_));
  const LogFile* next = at_or_after(files, current_.index + 1);
  if (next == nullptr) {
    finished_ = !follow_;
    return false;
  }
  NOMAD_TRY(open_from(next->index, 0));
  return true;
}

Result<std::optional<StreamChunk>> LogStream::read() {
  std::optional<StreamChunk> chunk;
  // Each turn but the last goes to a later file; a file is left only after a read at its end that
  // came after its successor was seen, so nothing written to it is missed.
  bool successor_seen = false;
  while (!finished_) {
    std::string path = std::string{logs} + '/' + current_.name;
    std::string data;
    data.resize(static_cast<std::size_t>(
        limited_ ? std::min<std::uint64_t>(remaining_, stream_chunk_bytes) : stream_chunk_bytes));
    ssize_t got
        = ::pread(file_.descriptor.get(), data.data(), data.size(), static_cast<off_t>(offset_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("read " + path, errno);
    if (got > 0) {
      data.resize(static_cast<std::size_t>(got));
      offset_ += data.size();
      remaining_ -= limited_ ? data.size() : 0;
      finished_ = limited_ && remaining_ == 0;
      chunk = StreamChunk{std::move(path), std::move(data), offset_, ""};
      return chunk;
    }
    if (!successor_seen) {
      auto files = NOMAD_TRY(list_log_files(*directory_, task_, type_));
      bool more = at_or_after(files, current_.index + 1) != nullptr;
      bool wanted = follow_ || current_.index < last_index_;
      if (!more || !wanted) {
        finished_ = !follow_;
        return chunk;
      }
      successor_seen = true;
      continue;
    }
    auto advanced = NOMAD_TRY(advance());
    if (!advanced) return chunk;
    successor_seen = false;
  }
  return chunk;
}

}  // namespace nomad::host
