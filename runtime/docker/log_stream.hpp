// The stream in which the engine gives out a container's logs, taken apart, and where to go on in
// it: FrameSplitter, MessageSplitter, LogCursor. Pure.
//
// A container without a terminal has frames: eight bytes that say which stream and how long, then
// one message. One with a terminal has messages and nothing between them. Asked for timestamps,
// each message begins with one of 30 characters and a space.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::docker {

enum class Output : std::uint8_t { in, out, err };

/// Takes the frames of a stream with several outputs apart, as bytes come.
class FrameSplitter {
public:
  static constexpr std::size_t longest_frame = 1024 * 1024;

  using Taker = std::function<void(Output, std::string_view)>;

  /// Calls `taker` with each whole frame. `corrupt` for what is no frame; nothing is taken after
  /// that.
  Result<> take(std::string_view bytes, const Taker& taker);

  /// Whether it waits for the rest of a frame.
  bool is_inside() const { return !rest_.empty(); }

private:
  std::string rest_;
};

/// One message of a log.
struct LogMessage {
  Output output = Output::out;
  std::int64_t time = 0;  ///< Unix nanoseconds.
  std::string_view text;  ///< With its line's end, if it has one.
};

/// "2026-01-02T03:04:05.000000006Z " and the text behind it. `corrupt` for anything else.
Result<LogMessage> read_message(Output output, std::string_view bytes);

/// Takes the messages of a terminal's log apart.
class MessageSplitter {
public:
  static constexpr std::size_t longest_piece = 16 * 1024;  ///< The engine splits longer lines.
  static constexpr std::size_t stamp_size = 31;            ///< With the space.

  using Taker = std::function<void(const LogMessage&)>;

  Result<> take(std::string_view bytes, const Taker& taker);

private:
  std::string rest_;
};

/// What to ask for in order to go on, and what of the answer is known.
struct LogPosition {
  std::int64_t since = 0;      ///< Unix nanoseconds.
  std::uint64_t messages = 0;  ///< That many of those that follow were taken,
  std::uint64_t first = 0;     ///< the first of which has this sum.
  std::int64_t newest = 0;     ///< The newest time that was seen.

  friend bool operator==(const LogPosition&, const LogPosition&) = default;
};

/// Where in a container's log we are. The engine gives out messages in their order, filtered by
/// their times, which may differ a little from that order. So a position is a moment a while before
/// the newest message, and the number of messages from it on that were taken.
///
/// An engine of 20.10 that begins a new file of its own gives a file out again to who follows. Such
/// messages are older than the newest one, and are known by their sums, or are older than any that
/// may be late. Who asks anew does not get them, so they are not counted.
class LogCursor {
public:
  LogCursor() = default;

  /// Goes on from a position that was kept.
  explicit LogCursor(const LogPosition& from);

  /// The stream has ended, and another one begins at what `from` asks for. What was taken is still
  /// known one by one: other streams may have what this one has passed over.
  void restart(const LogPosition& from);

  /// Whether the message is new. Counts it.
  bool take(const LogMessage& message);

  LogPosition position() const;

  /// Whether what comes is known still; positions are not worth keeping until it has come.
  bool is_skipping() const { return to_skip_ > 0 || recent_.newest < taken_before_.newest; }

private:
  static constexpr std::int64_t bucket_span = 50'000'000;  ///< Nanoseconds.
  static constexpr std::size_t most_buckets = 8;           ///< They reach back four tenths.

  /// Nanoseconds. No message comes later than that behind a newer one.
  static constexpr std::int64_t latest = 2'000'000'000;
  static constexpr std::size_t most_recent = 16 * 1024;

  /// The messages that came last.
  struct Recent {
    struct One {
      std::int64_t time = 0;
      std::uint64_t sum = 0;
    };

    std::deque<One> messages;
    std::int64_t newest = 0;
    std::int64_t forgotten = 0;  ///< The newest time that was among them.

    bool has(const One& message) const;
    void add(const One& message);
  };

  struct Bucket {
    std::int64_t number = 0;
    std::uint64_t messages = 0;
    std::uint64_t first = 0;  ///< The sum of the one that was met first,
    std::uint64_t met = 0;    ///< and after how many others.
  };

  void count(const LogMessage& message);

  LogPosition from_{};
  std::uint64_t to_skip_ = 0;
  std::uint64_t seen_ = 0;
  bool prefix_is_lost_ = false;  ///< The engine has dropped what we counted.
  std::deque<Bucket> buckets_;   ///< By number.
  Recent recent_;                ///< Of this stream.
  Recent taken_before_;          ///< Of the streams before, until this one is well beyond them.
};

}  // namespace nomad::docker
