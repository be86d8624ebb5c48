#include "runtime/scheduler/placement/property_counts.hpp"

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"

namespace nomad::scheduler {

PropertyCounts::PropertyCounts(std::string_view attribute,
                               std::string_view group,
                               const state::Snapshot& state,
                               const std::vector<state::AllocRef>& allocs)
    : attribute_{attribute}, group_{group} {
  for (const auto& row : allocs) {
    if (row->terminal()) continue;
    const auto node = state.node(row->alloc->node_id());
    if (node) change(*node, row->alloc->task_group(), 1);
  }
}

void PropertyCounts::change(schema::Node::Reader node, std::string_view group, int by) {
  if (!group_.empty() && group_ != group) return;
  const auto value = resolve_target(attribute_, node);
  if (!value) return;
  auto position = counts_.find(*value);
  if (by > 0) {
    if (position == counts_.end()) position = counts_.emplace(std::string{*value}, 0).first;
    ++position->second;
  } else if (position != counts_.end() && --position->second == 0) {
    counts_.erase(position);
  }
}

std::uint64_t PropertyCounts::count(std::string_view value) const {
  const auto position = counts_.find(value);
  return position == counts_.end() ? 0 : position->second;
}

}  // namespace nomad::scheduler
