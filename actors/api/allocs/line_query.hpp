// Which lines of a task's logs are wanted, and how they look on their way: newline-delimited JSON,
// of a node's answer `{"Time":…,"TimeBy":"file","Line":"…"}` each. `{"Live":true}` says, where the
// log is followed, that all that there was has been told; `{"Error":…}` that nothing follows, and
// why. Tests: job_logs_test.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/result.hpp"
#include "runtime/host/logs/log_lines.hpp"
#include "runtime/net/http/http_message.hpp"
#include "runtime/text/regex.hpp"

namespace nomad::api {

struct LineQuery {
  static constexpr std::int64_t most_tail = 1'000'000;

  bool follow = false;
  std::optional<std::int64_t> since{};  ///< Unix nanoseconds.
  std::optional<std::size_t> tail{};
  std::shared_ptr<const Regex> grep{};  ///< Null: every line.
  std::int64_t begun = 0;               ///< Of the task, likewise; 0: unknown.
};

/// The parameters `follow`, `since` (a duration before `now`, or a time of RFC 3339), `tail`,
/// `origin` ("end": none of what there is), `grep` (a regular expression) and `begun`. What is
/// wrong with them is `invalid_argument`.
Result<LineQuery> parse_line_query(const net::Request& request, std::int64_t now);

/// LogLines as frames, for a Follower.
class LineFrames {
public:
  explicit LineFrames(host::LogLines lines) : lines_{std::move(lines)} {}

  Result<std::optional<host::StreamChunk>> read();

  /// What was read last took much looking for lines: others should have their turn.
  bool should_rest() const { return should_rest_; }

  bool finished() const { return has_failed_ || lines_.finished(); }

  void stop_following() { lines_.stop_following(); }

  Result<> watch(host::FileWatcher& watcher, std::function<void()> changed) {
    return lines_.watch(watcher, std::move(changed));
  }

private:
  host::LogLines lines_;
  bool has_failed_ = false;
  bool should_rest_ = false;
};

}  // namespace nomad::api
