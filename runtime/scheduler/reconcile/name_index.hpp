// NameIndex: which of a group's names "job.group[0]", "job.group[1]", … are in use. A name may be
// used twice for a while (a canary beside what it replaces, overlap after a scale-down).
//
// May depend on: the standard library. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nomad::scheduler {

/// "job.group[3]".
std::string alloc_name(std::string_view job, std::string_view group, std::uint64_t index);

/// 3 of "job.group[3]"; 0 when there is no number.
std::uint64_t alloc_index(std::string_view name);

class NameIndex {
public:
  /// `names` are those in use.
  NameIndex(std::string_view job,
            std::string_view group,
            std::uint64_t count,
            const std::vector<std::string_view>& names);

  /// The `n` highest names in use; they are free afterwards.
  std::set<std::string> take_highest(std::size_t n);

  /// `n` names: the lowest free ones below the count, then 0, 1, 2… again.
  std::vector<std::string> next(std::size_t n);

  /// The lowest free name below the count, in use from now on; nothing if there is none.
  std::optional<std::string> next_free();

  /// Names for `n` canaries: those of allocations that are going to be replaced and have no canary
  /// yet, then free ones, then ones above the count.
  std::vector<std::string> next_canaries(std::size_t n,
                                         const std::vector<std::string_view>& existing_canaries,
                                         const std::vector<std::string_view>& to_replace);

  /// One user of the name is gone.
  void release(std::uint64_t index);

  /// Whether more than one of the allocations given at first uses the name.
  bool is_duplicate(std::uint64_t index) const { return extra_uses_.contains(index); }

private:
  std::string name(std::uint64_t index) const { return alloc_name(job_, group_, index); }

  std::string job_;
  std::string group_;
  std::uint64_t count_;
  std::set<std::uint64_t> used_;
  std::multiset<std::uint64_t> extra_uses_;
};

}  // namespace nomad::scheduler
