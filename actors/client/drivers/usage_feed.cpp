#include "actors/client/drivers/usage_feed.hpp"

namespace nomad::client {
namespace {

Nanoseconds tick_after(Nanoseconds now, Nanoseconds interval) {
  return interval * (now / interval + 1);
}

}  // namespace

void UsageFeed::follow(const driver::TaskId& id, Nanoseconds interval, Nanoseconds now) {
  if (const auto known = tasks_.find(id); known != tasks_.end()) {
    if (known->second.interval == interval) return;
    drop(id);
  }
  if (interval.count() <= 0) return;
  const auto due = tick_after(now, interval);
  tasks_[id] = {interval, due};
  ticks_[due].insert(id);
}

void UsageFeed::drop(const driver::TaskId& id) {
  const auto known = tasks_.find(id);
  if (known == tasks_.end()) return;
  const auto tick = ticks_.find(known->second.due);
  tick->second.erase(id);
  if (tick->second.empty()) ticks_.erase(tick);
  tasks_.erase(known);
}

std::optional<Nanoseconds> UsageFeed::next() const {
  return ticks_.empty() ? std::nullopt : std::optional{ticks_.begin()->first};
}

std::vector<driver::TaskId> UsageFeed::take_due(Nanoseconds now) {
  std::vector<driver::TaskId> due;
  while (!ticks_.empty() && ticks_.begin()->first <= now) {
    const auto tick = ticks_.extract(ticks_.begin());
    for (const auto& id : tick.mapped()) {
      auto& task = tasks_.at(id);
      task.due = tick_after(now, task.interval);
      ticks_[task.due].insert(id);
      due.push_back(id);
    }
  }
  return due;
}

}  // namespace nomad::client
