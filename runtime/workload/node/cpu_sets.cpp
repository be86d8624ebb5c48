#include "runtime/workload/node/cpu_sets.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad::workload {

std::string core_list(std::vector<std::uint16_t> cores) {
  std::ranges::sort(cores);
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  std::string out;
  for (std::size_t first = 0; first < cores.size();) {
    auto last = first;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1)
      ++last;
    if (!out.empty()) out += ',';
    out += first == last ? std::to_string(cores[first])
                         : fmt::format("{}-{}", cores[first], cores[last]);
    first = last + 1;
  }
  return out;
}

std::string core_list(capnp::List<std::uint16_t>::Reader cores) {
  CpuSets::Cores list;
  for (const auto core : cores)
    list.push_back(core);
  return core_list(std::move(list));
}

unsigned count_cores(std::string_view list) {
  unsigned count = 0;
  for (const auto part : split(list, ',')) {
    const auto dash = part.find('-');
    std::uint16_t first = 0, last = 0;
    const auto from = part.substr(0, dash);
    const auto to = dash == part.npos ? from : part.substr(dash + 1);
    if (std::from_chars(from.data(), from.data() + from.size(), first).ec != std::errc{}
        || std::from_chars(to.data(), to.data() + to.size(), last).ec != std::errc{}
        || last < first)
      continue;
    count += 1U + last - first;
  }
  return count;
}

CpuSets::Cores reserved_cores(AllocView alloc) {
  CpuSets::Cores all;
  for (const auto task : alloc.resources().getTasks())
    for (const auto core : task.getValue().getCpu().getReservedCores())
      all.push_back(core);
  return all;
}

void CpuSets::hold(const std::string& alloc_id, Cores cores) {
  if (cores.empty())
    held_.erase(alloc_id);
  else
    held_[alloc_id] = std::move(cores);
}

std::string CpuSets::shared() const {
  Cores left = reservable_;
  for (const auto& [alloc_id, cores] : held_)
    for (const auto core : cores)
      std::erase(left, core);
  return core_list(left.empty() ? reservable_ : std::move(left));
}

}  // namespace nomad::workload
