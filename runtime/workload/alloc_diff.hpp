// What a client has to do after the servers told it which allocations it should have.
//
// An allocation changes for the client only when its AllocModifyIndex grows: what the client itself
// reported comes back with a higher ModifyIndex and is no news. An older state never replaces a
// newer one. Allocations are removed only by a complete set that lacks them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
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

/// The allocations that the client has.
struct ExistingAllocs {
  /// The AllocModifyIndex of one; nothing: it does not have it.
  std::function<std::optional<std::uint64_t>(const std::string& alloc_id)> index_of;
  std::function<void(const std::function<void(const std::string& alloc_id)>& take)> each;
};

AllocDiff diff_allocs(const ExistingAllocs& existing,
                      const std::vector<AssignedIndex>& assigned,
                      bool complete);

}  // namespace nomad::workload
