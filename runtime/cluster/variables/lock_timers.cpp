#include "runtime/cluster/variables/lock_timers.hpp"

#include <algorithm>

namespace nomad::cluster {
namespace {

/// How many TTLs a lock is held without being renewed.
constexpr int patience = 2;

}  // namespace

void LockTimers::clear() {
  locks_.clear();
  by_deadline_.clear();
}

void LockTimers::move_to(Locks::iterator lock, TimePoint deadline) {
  by_deadline_.erase({lock->second.deadline, lock->first});
  lock->second.deadline = deadline;
  by_deadline_.emplace(deadline, lock->first);
}

void LockTimers::held(const std::string& variable, Lock lock, TimePoint now) {
  const auto deadline = now + patience * lock.ttl;
  const auto known = locks_.try_emplace(variable).first;
  known->second.lock = std::move(lock);
  known->second.is_lost = false;
  known->second.lifting.reset();
  move_to(known, deadline);
}

void LockTimers::written(const std::string& variable, std::string_view id, std::uint64_t index) {
  const auto known = locks_.find(variable);
  if (known == locks_.end() || known->second.lock.id != id) return;
  auto& at = known->second.lock.index;
  at = std::max(at, index);  // What is told later may be older than what was seen in the state.
}

void LockTimers::lifted(const std::string& variable) {
  const auto known = locks_.find(variable);
  if (known == locks_.end()) return;
  by_deadline_.erase({known->second.deadline, variable});
  locks_.erase(known);
}

Result<> LockTimers::renew(const std::string& variable, const std::string& id, TimePoint now) {
  const auto known = locks_.find(variable);
  if (known == locks_.end()) return Error{Errc::conflict, "variable doesn't hold a lock"};
  auto& timed = known->second;
  if (timed.lock.id != id) return Error{Errc::conflict, "attempting to modify locked variable"};
  // That its timer has not been looked at since changes nothing.
  if (timed.is_lost || now >= timed.deadline)
    return Error{Errc::conflict, "the lock is lost: it was not renewed within its TTL"};
  move_to(known, now + patience * timed.lock.ttl);
  return {};
}

std::optional<LockTimers::TimePoint> LockTimers::next() const {
  if (by_deadline_.empty()) return std::nullopt;
  return by_deadline_.begin()->first;
}

std::vector<LockTimers::Due> LockTimers::take_due(TimePoint now, std::size_t most) {
  std::vector<Due> due;
  while (due.size() < most && !by_deadline_.empty() && by_deadline_.begin()->first <= now) {
    const auto lock = locks_.find(by_deadline_.begin()->second);
    auto& timed = lock->second;
    if (timed.is_lost) {
      due.push_back({lock->first, timed.lock.id, timed.lock.index});
      by_deadline_.erase(by_deadline_.begin());
      timed.lifting = timed.lock.index;
    } else {
      timed.is_lost = true;
      move_to(lock, timed.deadline + timed.lock.delay);
    }
  }
  return due;
}

void LockTimers::failed(const Due& due, TimePoint now) {
  const auto known = locks_.find(due.variable);
  if (known == locks_.end() || known->second.lifting != due.index) return;  // Taken since.
  known->second.lifting.reset();
  move_to(known, now + retry_after);
}

}  // namespace nomad::cluster
