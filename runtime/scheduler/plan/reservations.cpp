#include "runtime/scheduler/plan/reservations.hpp"

#include <optional>
#include <utility>

namespace nomad::scheduler {

void Reservations::add(std::shared_ptr<const Plan> plan) {
  auto token = plan->eval_token;
  plans_.insert_or_assign(std::move(token), std::move(plan));
}

std::set<std::string> Reservations::tokens() const {
  std::set<std::string> tokens;
  for (const auto& [token, plan] : plans_)
    tokens.insert(token);
  return tokens;
}

std::vector<std::uint64_t> Reservations::decisions() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [token, plan] : plans_)
    numbers.push_back(plan->decision);
  return numbers;
}

template <class Visit>
void Reservations::for_each_new(std::string_view node_id,
                                const state::Snapshot& state,
                                const Visit& visit) const {
  for (const auto& [token, plan] : plans_) {
    const auto changes = plan->nodes.find(node_id);
    if (changes == plan->nodes.end()) continue;
    for (const auto& placed : changes->second.placements)
      if (placed.is_new && !state.alloc(placed.row->id())) visit(placed);
  }
}

void Reservations::apply(std::string_view node_id,
                         const state::Snapshot& state,
                         state::NodeUsage& usage) const {
  for_each_new(node_id, state,
               [&usage](const auto& placed) { usage.add(placed.demand, placed.row->resources()); });
}

void Reservations::apply(std::string_view node_id,
                         const state::Snapshot& state,
                         Bandwidth& used) const {
  for_each_new(node_id, state,
               [&used](const auto& placed) { add_bandwidth(placed.row->resources(), used); });
}

void Reservations::apply(std::string_view quota,
                         const state::Snapshot& state,
                         state::QuotaUse& use) const {
  for (const auto& [token, plan] : plans_) {
    std::optional<bool> is_of_quota;  // all of a plan is of one namespace
    for (const auto& [node_id, changes] : plan->nodes) {
      for (const auto& placed : changes.placements) {
        if (!placed.is_new) continue;
        if (!is_of_quota) is_of_quota = state.quota_of(placed.row->ns()) == quota;
        if (!*is_of_quota) break;
        if (!state.alloc(placed.row->id()))
          use += state::quota_use_of(placed.demand, placed.row->resources());
      }
      if (is_of_quota == false) break;
    }
  }
}

}  // namespace nomad::scheduler
