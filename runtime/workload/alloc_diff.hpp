// What a client has to do after the servers told it which allocations it should have.
//
// An allocation changes for the client only when its AllocModifyIndex grows: what the client itself
// reported comes back with a higher ModifyIndex and is no news. An older state never replaces a
// newer one. Allocations are removed only by a complete set that lacks them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace nomad::workload {

struct AssignedIndex {
  std::string alloc_id;
  std::uint64_t alloc_modify_index = 0;
};

struct AllocDiff {
  std::vector<std::size_t> added;    ///< Places in the assigned list.
  std::vector<std::size_t> updated;  ///< The same.
  std::vector<std::string> removed;
};

/// `existing` maps the allocations the client knows to their AllocModifyIndex.
AllocDiff diff_allocs(const std::unordered_map<std::string, std::uint64_t>& existing,
                      const std::vector<AssignedIndex>& assigned,
                      bool complete);

}  // namespace nomad::workload
