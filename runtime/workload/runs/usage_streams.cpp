#include "runtime/workload/runs/usage_streams.hpp"

#include <algorithm>
#include <utility>

namespace nomad::workload {

Nanoseconds usage_interval(Nanoseconds asked) {
  if (asked.count() <= 0) return Nanoseconds{0};
  return std::clamp<Nanoseconds>(asked, std::chrono::milliseconds{500}, std::chrono::hours{1});
}

void UsageStreams::follow(const TaskId& id, Nanoseconds asked, Nanoseconds now) {
  const auto interval = usage_interval(asked);
  if (interval.count() == 0) return drop(id);
  auto& stream = streams_[id];
  if (stream.interval == interval) return;
  if (stream.number == 0)
    stream.number = ++numbers_;
  else
    take_out(id, stream);
  stream.interval = interval;
  enter(id, stream, now);
}

void UsageStreams::drop(const TaskId& id) {
  const auto known = streams_.find(id);
  if (known == streams_.end()) return;
  take_out(id, known->second);
  streams_.erase(known);
}

/// (1)
void UsageStreams::enter(const TaskId& id, Stream& stream, Nanoseconds now) {
  stream.due = stream.interval * (now / stream.interval + 1);
  ticks_[stream.due].insert(id);
}

void UsageStreams::take_out(const TaskId& id, const Stream& stream) {
  const auto tick = ticks_.find(stream.due);
  tick->second.erase(id);
  if (tick->second.empty()) ticks_.erase(tick);
}

std::optional<UsageStreams::Wake> UsageStreams::take_wake(Nanoseconds now) {
  if (ticks_.empty()) return std::nullopt;
  const auto next = ticks_.begin()->first;
  if (wakes_at_ && *wakes_at_ <= next) return std::nullopt;
  wakes_at_ = next;
  return Wake{std::max(next - now, Nanoseconds{0}), ++round_};
}

std::vector<UsageStreams::Reading> UsageStreams::take_due(std::uint64_t round, Nanoseconds now) {
  if (round != round_) return {};
  wakes_at_.reset();
  std::vector<Reading> due;
  while (!ticks_.empty() && ticks_.begin()->first <= now) {
    const auto tick = ticks_.extract(ticks_.begin());
    for (const auto& id : tick.mapped()) {
      auto& stream = streams_.at(id);
      enter(id, stream, now);
      if (!std::exchange(stream.is_read, true)) due.push_back({id, stream.interval, stream.number});
    }
  }
  return due;
}

/// (3)
bool UsageStreams::end_reading(const Reading& reading) {
  const auto known = streams_.find(reading.id);
  if (known == streams_.end() || known->second.number != reading.stream) return false;
  known->second.is_read = false;
  return true;
}

}  // namespace nomad::workload
