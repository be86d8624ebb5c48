#include "runtime/workload/checks/check_schedule.hpp"

#include <algorithm>

namespace nomad::workload {
namespace {

/// So that sums of times stay numbers.
constexpr Nanoseconds longest_interval = std::chrono::hours{24 * 365};

}  // namespace

void CheckSchedule::add(Key key, const std::string& group, Nanoseconds interval, Nanoseconds now) {
  interval = std::clamp<Nanoseconds>(interval, std::chrono::milliseconds{1}, longest_interval);
  const auto half = static_cast<std::uint64_t>(interval.count()) / 2;
  const auto due = now + interval / 4 + Nanoseconds{random_.below(half)};
  if (!checks_.emplace(key, Check{group, interval, due}).second) return;
  asleep_.emplace(due, key);
  ++groups_[group].checks;
}

void CheckSchedule::remove(Key key) {
  const auto found = checks_.find(key);
  if (found == checks_.end()) return;
  const auto check = std::move(found->second);
  checks_.erase(found);
  asleep_.erase({check.due, key});
  if (check.stage == Stage::running) stopped_running(check.group);
  const auto group = groups_.find(check.group);
  if (--group->second.checks == 0) groups_.erase(group);
}

void CheckSchedule::give_turn(const std::string& name, Group& group) {
  if (group.has_turn || group.waiting.empty() || group.running >= limits_.per_group) return;
  group.has_turn = true;
  turns_.push_back(name);
}

void CheckSchedule::wake_due(Nanoseconds now) {
  while (!asleep_.empty() && asleep_.begin()->first <= now) {
    const auto key = asleep_.begin()->second;
    asleep_.erase(asleep_.begin());
    auto& check = checks_.at(key);
    check.stage = Stage::waiting;
    auto& group = groups_.at(check.group);
    group.waiting.push_back(key);
    give_turn(check.group, group);
  }
}

std::vector<CheckSchedule::Key> CheckSchedule::begin_due(Nanoseconds now) {
  wake_due(now);
  std::vector<Key> begun;
  while (running_ < limits_.in_all && !turns_.empty()) {
    const auto name = std::move(turns_.front());
    turns_.pop_front();
    const auto found = groups_.find(name);
    if (found == groups_.end()) continue;
    auto& group = found->second;
    group.has_turn = false;
    if (group.running >= limits_.per_group || group.waiting.empty()) continue;
    const auto key = group.waiting.front();
    group.waiting.pop_front();
    if (const auto check = checks_.find(key); check != checks_.end()) {
      check->second.stage = Stage::running;
      ++group.running;
      ++running_;
      begun.push_back(key);
    }
    give_turn(name, group);
  }
  return begun;
}

void CheckSchedule::stopped_running(const std::string& group_name) {
  --running_;
  auto& group = groups_.at(group_name);
  --group.running;
  give_turn(group_name, group);
}

void CheckSchedule::finished(Key key, Nanoseconds now) {
  const auto found = checks_.find(key);
  if (found == checks_.end() || found->second.stage != Stage::running) return;
  auto& check = found->second;
  check.stage = Stage::asleep;
  const auto missed = std::max<std::int64_t>((now - check.due) / check.interval, 0);
  check.due += (missed + 1) * check.interval;
  asleep_.emplace(check.due, key);
  stopped_running(check.group);
}

std::optional<Nanoseconds> CheckSchedule::next() const {
  if (running_ < limits_.in_all && !turns_.empty()) return Nanoseconds{0};
  if (asleep_.empty()) return std::nullopt;
  return asleep_.begin()->first;
}

}  // namespace nomad::workload
