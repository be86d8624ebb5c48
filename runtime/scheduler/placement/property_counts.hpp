// PropertyCounts: how many of a job's or group's allocations run on nodes with each value of one
// property ("${meta.rack}"), for distinct_property and for spreads.
//
// May depend on: runtime/state.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/state/snapshot.hpp"

namespace nomad::scheduler {

class PropertyCounts {
public:
  /// Counts `allocs` that are not terminal, of `group` only unless it is empty.
  PropertyCounts(std::string_view attribute,
                 std::string_view group,
                 const state::Snapshot& state,
                 const std::vector<state::AllocRef>& allocs);

  std::string_view attribute() const { return attribute_; }

  /// Empty: the whole job's.
  std::string_view group() const { return group_; }

  /// A planned change on a node of this allocation's group.
  void change(schema::Node::Reader node, std::string_view group, int by);

  std::uint64_t count(std::string_view value) const;

  const std::map<std::string, std::uint64_t, std::less<>>& counts() const { return counts_; }

private:
  std::string attribute_;
  std::string group_;
  std::map<std::string, std::uint64_t, std::less<>> counts_;
};

}  // namespace nomad::scheduler
