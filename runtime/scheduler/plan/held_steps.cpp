#include "runtime/scheduler/plan/held_steps.hpp"

#include <algorithm>
#include <utility>

namespace nomad::scheduler {

void HeldSteps::hold(const std::string& token, std::set<std::string> others) {
  held_.insert_or_assign(token, Held{std::move(others), true});
}

void HeldSteps::settle(const std::string& token, bool is_full) {
  for (auto& [other, held] : held_) {
    if (held.others.erase(token) == 0) continue;
    held.holds_true = held.holds_true && is_full;
  }
}

std::optional<HeldSteps::Ready> HeldSteps::take_ready() {
  const auto ready
      = std::ranges::find_if(held_, [](const auto& entry) { return entry.second.others.empty(); });
  if (ready == held_.end()) return std::nullopt;
  Ready taken{ready->first, ready->second.holds_true};
  held_.erase(ready);
  return taken;
}

std::vector<std::string> HeldSteps::take_dependents(const std::string& token) {
  std::vector<std::string> dependents;
  std::erase_if(held_, [&](const auto& entry) {
    const bool depends = entry.second.others.contains(token);
    if (depends) dependents.push_back(entry.first);
    return depends;
  });
  return dependents;
}

}  // namespace nomad::scheduler
