#include "runtime/workload/alloc_diff.hpp"

#include <string_view>
#include <unordered_set>

namespace nomad::workload {

AllocDiff diff_allocs(const std::unordered_map<std::string, std::uint64_t>& existing,
                      const std::vector<AssignedIndex>& assigned,
                      bool complete) {
  AllocDiff diff;
  for (std::size_t place = 0; place < assigned.size(); ++place) {
    const auto known = existing.find(assigned[place].alloc_id);
    if (known == existing.end())
      diff.added.push_back(place);
    else if (assigned[place].alloc_modify_index > known->second)
      diff.updated.push_back(place);
  }
  if (!complete) return diff;

  std::unordered_set<std::string_view> wanted;
  for (const auto& each : assigned)
    wanted.insert(each.alloc_id);
  for (const auto& [alloc_id, index] : existing)
    if (!wanted.contains(alloc_id)) diff.removed.push_back(alloc_id);
  return diff;
}

}  // namespace nomad::workload
