// LogLines: a task's rotated logs line by line, each with a time, as far as that can be had: the
// files hold what the task wrote and nothing else. A line's time is
//   - what it says itself, if it begins with a time of RFC 3339 with its zone (within 64 bytes)
//   that
//     fits the file it is in, or now, within an hour;
//   - else, of what had been written before: its location between the last write to the file before
//     (of the first file: the task's start) and the last write to its own, as if the task had
//     written at an even pace;
//   - else, of what is appended while it is followed: when it was read.
// So times within one rotated file are no more than estimates unless lines say them; `by` says
// which it is. Lines come in the order in which they were written, whatever their times say.
//
// A line is `most_line_bytes` at most: what is longer comes as several. An unfinished line at the
// end is waited for while the log is followed.
//
// Pulled as LogStream is, and not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/base/work.hpp"
#include "runtime/host/file_stream.hpp"

namespace nomad::host {

enum class TimeBy : std::uint8_t { line, file, arrival };

/// "line", "file" or "arrival".
std::string_view word_of(TimeBy by);

struct TimedLine {
  std::int64_t time = 0;  ///< Unix nanoseconds.
  TimeBy by = TimeBy::file;
  std::string text{};  ///< Without its end; any bytes but a line feed.
};

/// The time with its zone that begins in the first 64 bytes of `text`, in Unix nanoseconds: RFC
/// 3339, also with a blank for its T and a comma before the fraction. Pure.
std::optional<std::int64_t> time_in_line(std::string_view text);

struct LineOptions {
  std::optional<std::int64_t>
      since{};                        ///< Unix nanoseconds: lines of an earlier time are left out.
  std::int64_t begun = 0;             ///< When the task began, likewise; 0: unknown.
  std::optional<std::size_t> tail{};  ///< Of what there is, the last lines alone.
  bool follow = false;
  /// Whether a line is wanted, and takes what it costs to say so; empty: all are. Of what it fails
  /// with, reading does.
  std::function<Result<bool>(std::string_view line, Work& work)> wanted{};
  std::function<std::int64_t()> now{};  ///< Unix nanoseconds; required.
};

class LogLines {
public:
  static constexpr std::size_t most_line_bytes = 32 * 1024;
  static constexpr std::size_t most_tail_bytes
      = 1024 * 1024;  ///< Of a tail the oldest are missing.

  /// What looking for lines may cost before a page ends; the line that goes beyond it is looked at,
  /// if it takes no more than `Work::at_once`.
  static constexpr std::uint64_t page_work = std::uint64_t{1} << 24U;

  struct Page {
    std::vector<TimedLine> lines{};
    bool told_all = false;   ///< The first page behind which all is that there was; once.
    bool more = false;       ///< There may be more already.
    bool is_costly = false;  ///< `page_work` is used up: others should have their turn.
  };

  /// As LogStream::open.
  static Result<LogLines> open(const Beneath& directory,
                               std::string task,
                               LogType type,
                               LineOptions options);

  /// What comes next: of some 64 KiB and `page_work`. Without `more` there is nothing for now, or
  /// ever (`finished`).
  Result<Page> read();

  bool finished() const { return has_ended_; }

  void stop_following() { stream_.stop_following(); }

  Result<> watch(FileWatcher& watcher, std::function<void()> changed) {
    return stream_.watch(watcher, std::move(changed));
  }

private:
  enum class Phase : std::uint8_t {
    past,  ///< What was there when this was opened.
    tail,  ///< Its last lines go out.
    news,
  };

  /// A file as it was when this was opened.
  struct Written {
    std::int64_t begin = 0;  ///< Unix nanoseconds.
    std::int64_t end = 0;
    std::uint64_t size = 0;
  };

  LogLines(LogStream stream, LineOptions options)
      : stream_{std::move(stream)}, options_{std::move(options)} {}

  void note_files(const std::vector<LogFile>& files);
  Result<bool> has_bytes();
  Result<> cut_line(std::vector<TimedLine>& lines, Work& work);
  Result<> end_line(std::vector<TimedLine>& lines, Work& work);
  TimedLine timed(std::string text) const;
  void keep(TimedLine line);

  LogStream stream_;
  LineOptions options_;
  Phase phase_ = Phase::past;
  std::map<std::string, Written, std::less<>> files_;  ///< By path.
  std::string newest_;                                 ///< The last of them.
  StreamChunk chunk_;                                  ///< What is being cut,
  std::size_t at_ = 0;                                 ///< and how far.
  std::string partial_;                                ///< Of the line that has not ended.
  bool is_amid_ = false;  ///< That line began before where this began to read.
  std::deque<TimedLine> kept_;
  std::size_t kept_bytes_ = 0;
  bool has_ended_ = false;
};

}  // namespace nomad::host
