#include "runtime/scheduler/reconcile/name_index.hpp"

#include <algorithm>
#include <charconv>

namespace nomad::scheduler {

std::string alloc_name(std::string_view job, std::string_view group, std::uint64_t index) {
  std::string name;
  name.reserve(job.size() + group.size() + 12);
  name.append(job).append(".").append(group).append("[");
  return name.append(std::to_string(index)).append("]");
}

std::uint64_t alloc_index(std::string_view name) {
  const auto open = name.rfind('[');
  const auto close = name.rfind(']');
  std::uint64_t index = 0;
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return 0;
  std::from_chars(name.data() + open + 1, name.data() + close, index);
  return index;
}

NameIndex::NameIndex(std::string_view job,
                     std::string_view group,
                     std::uint64_t count,
                     const std::vector<std::string_view>& names)
    : job_{job}, group_{group}, count_{count} {
  for (const auto name : names) {
    const auto index = alloc_index(name);
    if (!used_.insert(index).second) extra_uses_.insert(index);
  }
}

std::set<std::string> NameIndex::take_highest(std::size_t n) {
  std::set<std::string> taken;
  while (taken.size() < n && !used_.empty()) {
    const auto highest = *used_.rbegin();
    used_.erase(highest);
    taken.insert(name(highest));
  }
  return taken;
}

std::vector<std::string> NameIndex::next(std::size_t n) {
  std::vector<std::string> names;
  names.reserve(n);
  auto occupied = used_.begin();
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t index = 0; index < count_ && chosen.size() < n; ++index) {
    while (occupied != used_.end() && *occupied < index)
      ++occupied;
    if (occupied == used_.end() || *occupied != index) chosen.push_back(index);
  }
  for (std::uint64_t index = 0; chosen.size() < n; ++index)
    chosen.push_back(index);
  for (const auto index : chosen) {
    names.push_back(name(index));
    used_.insert(index);
  }
  return names;
}

std::optional<std::string> NameIndex::next_free() {
  std::uint64_t index = 0;
  for (const auto used : used_) {
    if (used != index) break;
    ++index;
  }
  if (index >= count_) return std::nullopt;
  used_.insert(index);
  return name(index);
}

std::vector<std::string> NameIndex::next_canaries(
    std::size_t n,
    const std::vector<std::string_view>& existing_canaries,
    const std::vector<std::string_view>& to_replace) {
  std::set<std::uint64_t> canaries;
  for (const auto canary : existing_canaries)
    canaries.insert(alloc_index(canary));
  std::vector<std::string> names;
  const auto take = [&](std::uint64_t index) {
    if (!canaries.insert(index).second) return;
    names.push_back(name(index));
    used_.insert(index);
  };
  std::set<std::uint64_t> candidates;
  for (const auto replaced : to_replace)
    candidates.insert(alloc_index(replaced));
  for (const auto index : candidates) {
    if (names.size() < n && index < count_) take(index);
  }
  for (std::uint64_t index = 0; index < count_ && names.size() < n; ++index) {
    if (!used_.contains(index)) take(index);
  }
  for (auto index = count_; names.size() < n; ++index)
    take(index);
  return names;
}

void NameIndex::release(std::uint64_t index) {
  if (const auto extra = extra_uses_.find(index); extra != extra_uses_.end())
    extra_uses_.erase(extra);
  else
    used_.erase(index);
}

}  // namespace nomad::scheduler
