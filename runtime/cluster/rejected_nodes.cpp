#include "runtime/cluster/rejected_nodes.hpp"

#include <algorithm>

#include "runtime/object/draft.hpp"

namespace nomad::cluster {

bool RejectedNodes::add(std::string_view node_id, TimePoint now) {
  if (!options_.enabled) return false;
  auto known = nodes_.find(node_id);
  if (known == nodes_.end()) {
    if (nodes_.size() >= most_nodes) forget_one();
    known = nodes_.emplace(std::string{node_id}, Refusals{}).first;
  }
  auto& refusals = known->second;
  while (!refusals.empty() && !is_in_window(refusals.front(), now))
    refusals.pop_front();
  refusals.push_back(now);
  if (refusals.size() > options_.node_threshold) refusals.pop_front();
  return refusals.size() >= options_.node_threshold && may_take_another(now);
}

void RejectedNodes::forget_one() {
  const auto quietest
      = std::ranges::min_element(nodes_, {}, [](const auto& node) { return node.second.back(); });
  nodes_.erase(quietest);
}

bool RejectedNodes::may_take_another(TimePoint now) {
  const std::chrono::duration<double> passed = now - allowance_at_;
  const std::chrono::duration<double> step = one_more_after;
  allowance_ = std::min(most_at_once, allowance_ + passed / step);
  allowance_at_ = now;
  if (allowance_ < 1) return false;
  allowance_ -= 1;
  return true;
}

std::map<std::string, std::size_t> RejectedNodes::scores(TimePoint now) const {
  std::map<std::string, std::size_t> scores;
  for (const auto& [node, refusals] : nodes_)
    scores[node] = static_cast<std::size_t>(
        std::ranges::count_if(refusals, [&](TimePoint then) { return is_in_window(then, now); }));
  return scores;
}

Object<schema::Command> take_out_rejected(std::string_view node_id, std::int64_t now) {
  Draft<schema::Command> draft;
  auto command = draft->initNodeEligibilityUpdate();
  command.setNodeId(text(node_id));
  command.setEligibility(schema::SchedulingEligibility::INELIGIBLE);
  command.setUpdatedAt(now);
  auto event = command.initEvent();
  event.setSubsystem("Scheduler");
  event.setMessage("Node marked as ineligible for scheduling due to multiple plan rejections");
  event.setTimestamp(now);
  return draft.freeze();
}

}  // namespace nomad::cluster
