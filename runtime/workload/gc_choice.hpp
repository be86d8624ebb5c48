// GcQueue: which terminal allocations a client removes, and when. A terminal allocation keeps its
// directory, for its logs, until there are too many of them or the disk is too full; then the one
// that ended first goes. Live allocations are never removed.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_set>

namespace nomad::workload {

struct GcLimits {
  std::size_t max_allocs = 50;        ///< Allocations whose directory exists, live ones included.
  double disk_usage_threshold = 80;   ///< Percent.
  double inode_usage_threshold = 70;  ///< Percent.
  std::size_t parallel_destroys = 2;
};

struct GcUsage {
  std::size_t allocs = 0;  ///< Allocations that are not destroyed, live ones included.
  double disk_used_percent = 0;
  double inodes_used_percent = 0;
};

class GcQueue {
public:
  explicit GcQueue(GcLimits limits);

  void set_limits(GcLimits limits) { limits_ = limits; }

  /// The allocation is terminal. A second mark changes nothing.
  void mark(const std::string& alloc_id);

  /// The allocation is gone, or is to be removed by other means.
  void unmark(const std::string& alloc_id);

  bool is_marked(const std::string& alloc_id) const { return marked_.contains(alloc_id); }

  /// The allocation has to go, whatever the limits say: the servers forgot it, or a user asked.
  void demand(const std::string& alloc_id);

  /// The allocation to destroy next, which is then under way: a demanded one, or the oldest if a
  /// limit is exceeded with `coming` new allocations; nothing while too many are being destroyed.
  std::optional<std::string> next(const GcUsage& usage, std::size_t coming = 0);

  /// The destruction of one that `next` handed out is over. Of another: no matter.
  void destroyed(const std::string& alloc_id) { under_way_.erase(alloc_id); }

  /// Why something has to go; "" when nothing has to. For logs.
  std::string reason(const GcUsage& usage) const;

  std::size_t marked() const { return marked_.size(); }

private:
  std::optional<std::string> pop(std::deque<std::string>& from);

  GcLimits limits_;
  std::deque<std::string> demanded_;  ///< Like the next, before which it goes.
  std::deque<std::string> order_;     ///< Oldest first; may hold ids that were unmarked since.
  std::unordered_set<std::string> marked_;
  std::unordered_set<std::string> under_way_;
};

}  // namespace nomad::workload
