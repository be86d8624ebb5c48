#include "runtime/workload/node/compute_queue.hpp"

#include <cmath>
#include <iterator>
#include <tuple>

namespace nomad::workload {
namespace {

/// In which a third of what was used is left.
constexpr double forgetting = 3e10;
/// What is as good as nothing.
constexpr double nothing = 1e6;

}  // namespace

void ComputeQueue::add(std::uint64_t ticket, const std::string& owner) {
  owners_[owner].waiting[0].push_back(ticket);
}

std::optional<ComputeQueue::Turn> ComputeQueue::next(Time now) {
  forget(now);
  if (running_[0] < limits_.short_slots)
    if (auto turn = next_of(false)) return turn;
  if (running_[1] < limits_.long_slots) return next_of(true);
  return std::nullopt;
}

void ComputeQueue::over(const Turn& turn, Time used, bool unfinished, Time now) {
  forget(now);
  auto& owner = owners_[turn.owner];
  owner.used += static_cast<double>(used.count());
  owner.seen = now;
  owner.runs[turn.is_long] = false;
  --running_[turn.is_long];
  if (unfinished) owner.waiting[1].push_back(turn.ticket);
}

void ComputeQueue::forget(Time now) {
  for (auto it = owners_.begin(); it != owners_.end();) {
    auto& owner = it->second;
    owner.used *= std::exp(-static_cast<double>((now - owner.seen).count()) / forgetting);
    if (owner.used < nothing) owner.used = 0;
    owner.seen = now;
    const bool is_idle = owner.used == 0 && !owner.runs[0] && !owner.runs[1]
                         && owner.waiting[0].empty() && owner.waiting[1].empty();
    it = is_idle ? owners_.erase(it) : std::next(it);
  }
}

std::optional<ComputeQueue::Turn> ComputeQueue::next_of(bool is_long) {
  auto first = owners_.end();
  const auto rank = [is_long](const Owner& owner) {
    return std::tuple{owner.used, owner.waiting[is_long].front()};
  };
  for (auto it = owners_.begin(); it != owners_.end(); ++it) {
    if (it->second.waiting[is_long].empty() || it->second.runs[is_long]) continue;
    if (first == owners_.end() || rank(it->second) < rank(first->second)) first = it;
  }
  if (first == owners_.end()) return std::nullopt;
  auto& owner = first->second;
  const Turn turn{
      .ticket = owner.waiting[is_long].front(), .owner = first->first, .is_long = is_long};
  owner.waiting[is_long].pop_front();
  owner.runs[is_long] = true;
  ++running_[is_long];
  return turn;
}

}  // namespace nomad::workload
