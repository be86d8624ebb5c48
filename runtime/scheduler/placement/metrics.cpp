#include "runtime/scheduler/placement/metrics.hpp"

#include <algorithm>

#include "runtime/base/saturated.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::scheduler {
namespace {

constexpr std::size_t kept_scores = 5;

template <class Counts>
void count(Counts& counts, std::string_view key) {
  if (key.empty()) return;
  auto position = counts.find(key);
  if (position == counts.end()) position = counts.emplace(std::string{key}, 0).first;
  ++position->second;
}

template <class ListBuilder, class Counts>
void fill(ListBuilder list, const Counts& counts) {
  unsigned next = 0;
  for (const auto& [key, value] : counts) {
    list[next].setKey(text(key));
    list[next++].setValue(value);
  }
}

/// The scores of a node by name, in alphabetical order.
std::map<std::string_view, double> scores_by_name(const MetricBuilder::ScoredNode& node) {
  std::map<std::string_view, double> scores;
  for (std::size_t i = 0; i < score_names; ++i) {
    const auto name = static_cast<ScoreName>(i);
    if (const auto part = node.score.part(name)) scores.emplace(to_string(name), *part);
  }
  return scores;
}

}  // namespace

void MetricBuilder::filtered(std::string_view node_class, std::string_view reason) {
  ++nodes_filtered_;
  count(class_filtered_, node_class);
  count(constraint_filtered_, reason);
}

void MetricBuilder::exhausted(std::string_view node_class, std::string_view dimension) {
  ++nodes_exhausted_;
  count(class_exhausted_, node_class);
  count(dimension_exhausted_, dimension);
}

void MetricBuilder::scored(std::string_view node_id, const Score& score) {
  const double normalized = score.normalized();
  if (best_.size() >= kept_scores && best_.back().normalized >= normalized) return;
  const auto position = std::ranges::find_if(
      best_, [normalized](const ScoredNode& node) { return node.normalized < normalized; });
  best_.insert(position, {std::string{node_id}, score, normalized});
  if (best_.size() > kept_scores) best_.pop_back();
}

void MetricBuilder::restart() {
  MetricBuilder anew;
  anew.nodes_in_pool_ = nodes_in_pool_;
  anew.nodes_available_ = std::move(nodes_available_);
  *this = std::move(anew);
}

void MetricBuilder::exhaust_resources(const GroupSpec& group) {
  if (dimension_exhausted_.empty()) return;
  const bool cpu = dimension_exhausted_.contains("cpu");
  const bool memory = dimension_exhausted_.contains("memory");
  for (const auto& task : group.tasks) {
    auto& exhausted = resources_exhausted_[std::string{task.name}];
    if (cpu) exhausted.cpu = saturated_sum(exhausted.cpu, task.cpu);
    if (memory) exhausted.memory_mb = saturated_sum(exhausted.memory_mb, task.memory_mb);
  }
}

void MetricBuilder::set_nodes(std::int64_t in_pool,
                              const std::map<std::string, std::int64_t>& by_datacenter) {
  nodes_in_pool_ = in_pool;
  nodes_available_ = by_datacenter;
}

void MetricBuilder::merge_filters(const MetricBuilder& other) {
  nodes_evaluated_ += other.nodes_evaluated_;
  nodes_filtered_ += other.nodes_filtered_;
  nodes_in_pool_ = other.nodes_in_pool_;
  nodes_available_ = other.nodes_available_;
  for (const auto& [key, value] : other.class_filtered_)
    class_filtered_[key] += value;
  for (const auto& [key, value] : other.constraint_filtered_)
    constraint_filtered_[key] += value;
}

Object<schema::AllocMetric> MetricBuilder::build() const {
  return build_with(best_);
}

Object<schema::AllocMetric> MetricBuilder::build_for(std::string_view node_id) const {
  const auto own = std::ranges::find(best_, node_id, &ScoredNode::node_id);
  return build_with(own == best_.end() ? std::span<const ScoredNode>{} : std::span{&*own, 1});
}

Object<schema::AllocMetric> MetricBuilder::build_with(std::span<const ScoredNode> scores) const {
  Draft<schema::AllocMetric> draft;
  auto& metric = *draft;
  metric.setNodesEvaluated(nodes_evaluated_);
  metric.setNodesFiltered(nodes_filtered_);
  metric.setNodesInPool(nodes_in_pool_);
  metric.setNodesExhausted(nodes_exhausted_);
  metric.setCoalescedFailures(coalesced_failures_);
  const auto size = [](const auto& counts) { return static_cast<unsigned>(counts.size()); };
  fill(metric.initNodesAvailable(size(nodes_available_)), nodes_available_);
  if (!class_filtered_.empty())
    fill(metric.initClassFiltered(size(class_filtered_)), class_filtered_);
  if (!constraint_filtered_.empty())
    fill(metric.initConstraintFiltered(size(constraint_filtered_)), constraint_filtered_);
  if (!class_exhausted_.empty())
    fill(metric.initClassExhausted(size(class_exhausted_)), class_exhausted_);
  if (!dimension_exhausted_.empty())
    fill(metric.initDimensionExhausted(size(dimension_exhausted_)), dimension_exhausted_);
  if (!quota_.empty()) {
    auto exceeded = metric.initQuotaExhausted(size(quota_));
    for (unsigned i = 0; i < exceeded.size(); ++i)
      exceeded.set(i, text(quota_[i]));
  }
  if (!resources_exhausted_.empty()) {
    auto tasks = metric.initResourcesExhausted(size(resources_exhausted_));
    unsigned next = 0;
    for (const auto& [task, exhausted] : resources_exhausted_) {
      tasks[next].setKey(text(task));
      auto resources = tasks[next++].initValue();
      resources.setCpu(exhausted.cpu);
      resources.setMemoryMb(exhausted.memory_mb);
    }
  }
  if (scores.empty()) return draft.freeze();
  auto nodes = metric.initScoreMetaData(size(scores));
  for (unsigned i = 0; i < nodes.size(); ++i) {
    nodes[i].setNodeId(text(scores[i].node_id));
    nodes[i].setNormScore(scores[i].normalized);
    const auto parts = scores_by_name(scores[i]);
    fill(nodes[i].initScores(size(parts)), parts);
  }
  return draft.freeze();
}

}  // namespace nomad::scheduler
