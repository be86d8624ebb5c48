#include "runtime/cluster/lease_table.hpp"

#include <algorithm>
#include <cassert>

namespace nomad::cluster {

std::chrono::milliseconds lease_ttl(std::size_t nodes,
                                    const LeaseOptions& options,
                                    Random& random) {
  const double shared_ms = 1000.0 * static_cast<double>(nodes) / options.max_heartbeats_per_second;
  const double base_ms = std::max(shared_ms, static_cast<double>(options.min_ttl.count()));
  return std::chrono::milliseconds{static_cast<std::int64_t>(base_ms * (1.0 + random.fraction()))};
}

void LeaseTable::renew(const std::string& node, TimePoint deadline) {
  forget(node);
  deadlines_.emplace(node, deadline);
  by_deadline_.emplace(deadline, node);
}

void LeaseTable::forget(const std::string& node) {
  auto lease = deadlines_.find(node);
  if (lease == deadlines_.end()) return;
  by_deadline_.erase({lease->second, node});
  deadlines_.erase(lease);
  assert(by_deadline_.size() == deadlines_.size());
}

std::vector<std::string> LeaseTable::expire(TimePoint now) {
  std::vector<std::string> lost;
  while (!by_deadline_.empty() && by_deadline_.begin()->first <= now) {
    lost.push_back(by_deadline_.begin()->second);
    forget(std::string{lost.back()});
  }
  return lost;
}

}  // namespace nomad::cluster
