#include "runtime/workload/alloc_diff.hpp"

#include <string_view>
#include <unordered_set>

namespace nomad::workload {

AllocDiff diff_allocs(const ExistingAllocs& existing,
                      const std::vector<AssignedIndex>& assigned,
                      bool complete) {
  AllocDiff diff;
  for (std::size_t place = 0; place < assigned.size(); ++place) {
    const auto index = existing.index_of(assigned[place].alloc_id);
    if (!index)
      diff.added.push_back(place);
    else if (assigned[place].alloc_modify_index > *index)
      diff.updated.push_back(place);
  }
  if (!complete) return diff;

  std::unordered_set<std::string_view> wanted;
  for (const auto& each : assigned)
    wanted.insert(each.alloc_id);
  existing.each([&wanted, &diff](const std::string& alloc_id) {
    if (!wanted.contains(alloc_id)) diff.removed.push_back(alloc_id);
  });
  return diff;
}

}  // namespace nomad::workload
