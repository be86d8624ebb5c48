// FileStream and LogStream: reading a file, or a task's rotated logs, from a position on and, when
// asked, following what is appended. They feed the fs/stream and fs/logs endpoints.
//
// Both are pulled: `read` returns what is there now and never waits. With `follow` the owner calls
// `watch` once and reads again whenever it is told. A LogStream never loses a line at a rotation:
// it reads a file to its end once more after the next one has appeared.
//
// Not thread-safe. A stream refers to the Beneath it was opened on, which must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/beneath.hpp"
#include "runtime/host/file_watcher.hpp"

namespace nomad::host {

/// Where an offset is counted from.
enum class Origin : std::uint8_t { start, end };

/// "start", "end" or, for start, ""; anything else is `invalid_argument`.
Result<Origin> parse_origin(std::string_view text);

/// One piece of a stream.
struct StreamChunk {
  std::string file{};  ///< The path as asked for; for logs "alloc/logs/<name>".
  std::string data{};
  std::uint64_t offset = 0;  ///< Position in `file` after `data`.
  std::string event{};       ///< "file truncated", "file deleted", else empty.
};

struct StreamOptions {
  std::uint64_t offset = 0;  ///< From `origin` towards the other end; clamped to the file.
  Origin origin = Origin::start;
  bool follow = false;
  std::uint64_t limit = 0;  ///< Bytes in total; 0 for no limit.
};

/// A piece holds at most this many bytes of data.
inline constexpr std::size_t stream_chunk_bytes = 64 * 1024;

class FileStream {
public:
  static Result<FileStream> open(const Beneath& directory,
                                 std::string path,
                                 const StreamOptions& options);
  ~FileStream();
  FileStream(FileStream&&) noexcept;
  FileStream& operator=(FileStream&&) = delete;

  /// The next piece. None: nothing for now (or ever, when `finished`).
  Result<std::optional<StreamChunk>> read();

  /// No piece will come any more: the end without `follow`, the limit, or a deleted file.
  bool finished() const { return finished_; }

  /// Nothing more is written: it ends with what is there.
  void stop_following() { follow_ = false; }

  /// Calls `changed` when `read` may find more. `watcher` must outlive this stream.
  Result<> watch(FileWatcher& watcher, std::function<void()> changed);

private:
  FileStream() = default;

  const Beneath* directory_ = nullptr;
  std::string path_;
  OpenFile file_;
  std::uint64_t offset_ = 0;
  std::uint64_t remaining_ = 0;
  bool limited_ = false;
  bool follow_ = false;
  bool finished_ = false;
  FileWatcher* watcher_ = nullptr;
  FileWatcher::Id watch_ = 0;
};

/// Which of a task's two outputs.
enum class LogType : std::uint8_t { stdout_log, stderr_log };

/// "stdout" or "stderr"; anything else is `invalid_argument`.
Result<LogType> parse_log_type(std::string_view text);

/// One rotated log file, "<task>.<stdout|stderr>.<index>".
struct LogFile {
  std::uint64_t index = 0;
  std::string name{};
  std::uint64_t size = 0;
  std::int64_t modified = 0;  ///< Unix nanoseconds of the last write.
};

/// Entries of alloc/logs, which the task may write to; those that are logs of one output.
inline constexpr std::size_t max_log_names = 50'000;
inline constexpr std::size_t max_log_files = 10'000;

/// The log files of one output below alloc/logs, by index. Other entries of the directory are
/// ignored. `not_found` when the directory is missing. With more than `max_names` entries those
/// with the first `max_log_files` numbers; `too_large` if there is none, or with more than so many.
Result<std::vector<LogFile>> list_log_files(const Beneath& directory,
                                            std::string_view task,
                                            LogType type,
                                            std::size_t max_names = max_log_names);

/// A place in the concatenation of log files.
struct LogPosition {
  std::uint64_t index = 0;
  std::uint64_t offset = 0;

  friend bool operator==(const LogPosition&, const LogPosition&) = default;
};

/// The file and the offset in it that `offset` bytes from `origin` stand for, over `files` as
/// `list_log_files` gives them; clamped to the first and the last byte. None without files. Nothing
/// back from the end is the start of the last file, as clients that follow a log rely on.
std::optional<LogPosition> locate(const std::vector<LogFile>& files,
                                  Origin origin,
                                  std::uint64_t offset);

class LogStream {
public:
  /// `not_found` "no log files found ..." when the task has no file of this type (with `follow`
  /// too: the caller knows whether the task has started).
  static Result<LogStream> open(const Beneath& directory,
                                std::string task,
                                LogType type,
                                const StreamOptions& options);
  ~LogStream();
  LogStream(LogStream&&) noexcept;
  LogStream& operator=(LogStream&&) = delete;

  Result<std::optional<StreamChunk>> read();

  bool finished() const { return finished_; }

  /// Nothing more is written: it ends with what is there, to the newest file's last byte.
  void stop_following();

  Result<> watch(FileWatcher& watcher, std::function<void()> changed);

private:
  LogStream() = default;

  Result<> open_from(std::uint64_t index, std::uint64_t offset);
  Result<bool> advance();
  Result<> watch_file();

  const Beneath* directory_ = nullptr;
  std::string task_;
  LogType type_ = LogType::stdout_log;
  LogFile current_;
  OpenFile file_;
  std::uint64_t offset_ = 0;
  std::uint64_t last_index_ = 0;  ///< Without follow: where to stop.
  std::uint64_t remaining_ = 0;
  bool limited_ = false;
  bool follow_ = false;
  bool finished_ = false;
  FileWatcher* watcher_ = nullptr;
  std::function<void()> changed_;
  FileWatcher::Id file_watch_ = 0;
  FileWatcher::Id directory_watch_ = 0;
};

}  // namespace nomad::host
