#include "runtime/workload/gc_choice.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace nomad::workload {

GcQueue::GcQueue(GcLimits limits) : limits_{limits} {
  limits_.parallel_destroys = std::max<std::size_t>(limits_.parallel_destroys, 1);
}

void GcQueue::mark(const std::string& alloc_id) {
  if (marked_.insert(alloc_id).second) order_.push_back(alloc_id);
}

void GcQueue::unmark(const std::string& alloc_id) {
  marked_.erase(alloc_id);
}

void GcQueue::demand(const std::string& alloc_id) {
  marked_.insert(alloc_id);
  demanded_.push_back(alloc_id);
}

std::optional<std::string> GcQueue::next(const GcUsage& usage, std::size_t coming) {
  if (under_way_.size() >= limits_.parallel_destroys) return std::nullopt;
  if (auto demanded = pop(demanded_)) return demanded;
  // Those under way will be gone, so they do not count as too many.
  auto after = usage;
  after.allocs += coming;
  after.allocs -= std::min(after.allocs, under_way_.size());
  if (reason(after).empty()) return std::nullopt;
  return pop(order_);
}

std::string GcQueue::reason(const GcUsage& usage) const {
  if (usage.disk_used_percent > limits_.disk_usage_threshold)
    return fmt::format("disk usage of {:.0f} is over gc threshold of {:.0f}",
                       usage.disk_used_percent, limits_.disk_usage_threshold);
  if (usage.inodes_used_percent > limits_.inode_usage_threshold)
    return fmt::format("inode usage of {:.0f} is over gc threshold of {:.0f}",
                       usage.inodes_used_percent, limits_.inode_usage_threshold);
  if (usage.allocs > limits_.max_allocs)
    return fmt::format("number of allocations ({}) is over the limit ({})", usage.allocs,
                       limits_.max_allocs);
  return {};
}

std::optional<std::string> GcQueue::pop(std::deque<std::string>& from) {
  while (!from.empty()) {
    auto oldest = std::move(from.front());
    from.pop_front();
    if (marked_.erase(oldest) == 0) continue;
    under_way_.insert(oldest);
    return oldest;
  }
  return std::nullopt;
}

}  // namespace nomad::workload
