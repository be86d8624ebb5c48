#include "runtime/docker/log_stream.hpp"

#include <algorithm>

#include <xxhash.h>

#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"

namespace nomad::docker {
namespace {

constexpr std::size_t head_size = 8;

/// FNV-1a, of a message with its time and output.
std::uint64_t sum_of(const LogMessage& message) {
  std::uint64_t sum = 14695981039346656037U;
  const auto add = [&sum](unsigned char byte) { sum = (sum ^ byte) * 1099511628211U; };
  add(static_cast<unsigned char>(message.output));
  for (int shift = 0; shift < 64; shift += 8)
    add(static_cast<unsigned char>(message.time >> shift));
  for (const char c : message.text)
    add(static_cast<unsigned char>(c));
  return sum;
}

/// For what lives no longer than the process.
std::uint64_t quick_sum_of(const LogMessage& message) {
  const auto seed
      = static_cast<std::uint64_t>(message.time) << 2 | static_cast<std::uint64_t>(message.output);
  return XXH3_64bits_withSeed(message.text.data(), message.text.size(), seed);
}

Error no_frame(std::string what) {
  return {Errc::corrupt, "the engine sends a stream that makes no sense: " + std::move(what)};
}

}  // namespace

Result<> FrameSplitter::take(std::string_view bytes, const Taker& taker) {
  // What is whole is taken from where it is; only the rest is copied.
  std::string joined;
  if (!rest_.empty()) {
    joined = std::move(rest_);
    rest_.clear();
    joined += bytes;
    bytes = joined;
  }
  while (bytes.size() >= head_size) {
    const auto byte = [&bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    if (byte(0) > 2 || byte(1) != 0 || byte(2) != 0 || byte(3) != 0)
      return no_frame("no frame begins like that");
    const auto size = std::size_t{byte(4)} << 24 | std::size_t{byte(5)} << 16
                      | std::size_t{byte(6)} << 8 | std::size_t{byte(7)};
    if (size > longest_frame) return no_frame("a frame is too long");
    if (bytes.size() < head_size + size) break;
    taker(static_cast<Output>(byte(0)), bytes.substr(head_size, size));
    bytes.remove_prefix(head_size + size);
  }
  rest_ = bytes;
  return {};
}

Result<LogMessage> read_message(Output output, std::string_view bytes) {
  constexpr auto stamp = MessageSplitter::stamp_size;
  if (bytes.size() < stamp || bytes[stamp - 1] != ' ' || bytes[stamp - 2] != 'Z')
    return no_frame("a message without its time");
  const auto time = parse_rfc3339(bytes.substr(0, stamp - 1));
  if (!time) return no_frame("a message without its time");
  return LogMessage{output, *time, bytes.substr(stamp)};
}

Result<> MessageSplitter::take(std::string_view bytes, const Taker& taker) {
  rest_ += bytes;
  std::size_t begin = 0;
  while (rest_.size() - begin > stamp_size) {
    const auto left = std::string_view{rest_}.substr(begin);
    const auto end = left.find('\n', stamp_size);
    auto size = end == left.npos ? left.size() : end + 1;
    if (size > stamp_size + longest_piece)
      size = stamp_size + longest_piece;  // a part of a line that the engine has split
    else if (end == left.npos)
      break;
    taker(NOMAD_TRY(read_message(Output::out, left.substr(0, size))));
    begin += size;
  }
  rest_.erase(0, begin);
  return {};
}

bool LogCursor::Recent::has(const One& message) const {
  return message.time <= newest
         && (message.time <= forgotten
             || std::ranges::find(messages, message.sum, &One::sum) != messages.end());
}

void LogCursor::Recent::add(const One& message) {
  newest = std::max(newest, message.time);
  messages.push_back(message);
  while (messages.size() > most_recent || messages.front().time < newest - latest) {
    forgotten = std::max(forgotten, messages.front().time);
    messages.pop_front();
    if (messages.empty()) return;
  }
}

LogCursor::LogCursor(const LogPosition& from) : from_{from}, to_skip_{from.messages} {}

void LogCursor::restart(const LogPosition& from) {
  LogCursor next{from};
  // One that has not come as far as the one before it knows less.
  const bool is_behind = recent_.newest < taken_before_.newest;
  next.taken_before_ = std::move(is_behind ? taken_before_ : recent_);
  if (next.taken_before_.newest > 0) next.to_skip_ = 0;
  *this = std::move(next);
}

bool LogCursor::take(const LogMessage& message) {
  const Recent::One one{message.time, quick_sum_of(message)};
  if (recent_.has(one)) return false;
  recent_.add(one);
  if (seen_ == 0) {
    prefix_is_lost_ = to_skip_ > 0 && sum_of(message) != from_.first;
    if (prefix_is_lost_) to_skip_ = 0;
  }
  count(message);
  ++seen_;
  if (taken_before_.newest > 0) {
    const bool is_known = taken_before_.has(one);
    if (message.time > taken_before_.newest + latest) taken_before_ = {};
    return !is_known;
  }
  if (to_skip_ > 0) {
    --to_skip_;
    return false;
  }
  // What we know is gone from the engine's files; what is left we know by its time.
  return !prefix_is_lost_ || message.time > from_.newest;
}

void LogCursor::count(const LogMessage& message) {
  const auto number = message.time / bucket_span;
  const auto oldest = recent_.newest / bucket_span - static_cast<std::int64_t>(most_buckets) + 1;
  while (!buckets_.empty() && buckets_.front().number < oldest)
    buckets_.pop_front();
  // One that comes far too late is before what a position would ask for.
  if (number < oldest) return;
  auto position = buckets_.end();
  while (position != buckets_.begin() && std::prev(position)->number >= number)
    --position;
  if (position == buckets_.end() || position->number != number)
    position = buckets_.insert(
        position, Bucket{.number = number, .messages = 0, .first = sum_of(message), .met = seen_});
  ++position->messages;
}

LogPosition LogCursor::position() const {
  if (buckets_.empty()) return from_;
  const auto met_first = std::ranges::min_element(buckets_, {}, &Bucket::met);
  LogPosition position{.since = buckets_.front().number * bucket_span,
                       .messages = 0,
                       .first = met_first->first,
                       .newest = std::max(recent_.newest, from_.newest)};
  for (const auto& bucket : buckets_)
    position.messages += bucket.messages;
  return position;
}

}  // namespace nomad::docker
