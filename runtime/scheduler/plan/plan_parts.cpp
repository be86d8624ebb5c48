#include "runtime/scheduler/plan/plan_parts.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <capnp/schema.h>

#include "runtime/object/draft.hpp"

namespace nomad::scheduler {
namespace {

constexpr std::size_t word_bytes = 8;

/// A text's words, and the pointer to it.
std::size_t bytes_of(std::string_view text) {
  return text.empty() ? 0 : (text.size() / word_bytes + 1) * word_bytes;
}

/// An allocation of which nothing is set.
std::size_t empty_row_bytes() {
  static const std::size_t bytes = [] {
    const auto layout = capnp::Schema::from<schema::Allocation>().getProto().getStruct();
    return std::size_t{layout.getDataWordCount()} * word_bytes
           + std::size_t{layout.getPointerCount()} * word_bytes;
  }();
  return bytes;
}

std::size_t bytes_of(const PlannedStop& stop) {
  return empty_row_bytes() + bytes_of(stop.alloc->alloc->id()) + bytes_of(stop.description)
         + bytes_of(stop.followup_eval_id) + bytes_of(stop.preempted_by);
}

std::size_t bytes_of(const std::vector<Object<schema::Evaluation>>& evals) {
  std::size_t bytes = 0;
  for (const auto& eval : evals)
    bytes += eval.size_in_bytes();
  return bytes;
}

/// Measures a part as it grows: metrics count once, with the first row that has them.
class Gauge {
public:
  explicit Gauge(const Plan& plan) : plan_{plan} {}

  void begin(std::size_t bytes) {
    bytes_ = bytes;
    metrics_.clear();
  }

  void add(const PlannedStop& stop) { bytes_ += bytes_of(stop); }

  void add(const PlannedAlloc& placed) {
    bytes_ += placed.row.size_in_bytes();
    const auto metric = placed.row->metric_number();
    if (metric < plan_.metrics.size() && metrics_.insert(metric).second)
      bytes_ += plan_.metrics[metric].size_in_bytes();
  }

  void add(const NodeChanges& changes) {
    for (const auto& stop : changes.stops)
      add(stop);
    for (const auto& stop : changes.preemptions)
      add(stop);
    for (const auto& placed : changes.placements)
      add(placed);
  }

  std::size_t bytes() const { return bytes_; }

private:
  const Plan& plan_;
  std::size_t bytes_ = 0;
  std::set<std::uint32_t> metrics_;
};

std::size_t prelude_bytes(const Plan& plan) {
  return plan.deployment.size_in_bytes() + bytes_of(plan.evaluations)
         + plan.completion.size_in_bytes();
}

std::size_t bytes_of(const Plan& plan) {
  Gauge gauge{plan};
  gauge.begin(prelude_bytes(plan));
  for (const auto& [node, changes] : plan.nodes)
    gauge.add(changes);
  return gauge.bytes();
}

class PlanSplitter {
public:
  PlanSplitter(const Plan& plan, std::size_t most) : plan_{plan}, most_{most}, gauge_{plan} {
    begin_part();
    parts_.back().deployment = plan.deployment;
    parts_.back().deployment_changes = plan.deployment_changes;
    parts_.back().evaluations = plan.evaluations;
    gauge_.begin(prelude_bytes(plan));
  }

  std::deque<Plan> cut() {
    for (const auto& [node, changes] : plan_.nodes) {
      Gauge alone{plan_};
      alone.add(changes);
      if (gauge_.bytes() + alone.bytes() > most_ && !parts_.back().nodes.empty()) begin_part();
      if (alone.bytes() > most_) {
        add_in_pieces(node, changes);
        continue;
      }
      gauge_.add(changes);
      parts_.back().nodes.emplace(node, changes);
    }
    parts_.back().completion = plan_.completion;
    return std::move(parts_);
  }

private:
  void begin_part() {
    auto& part = parts_.emplace_back();
    part.eval_id = plan_.eval_id;
    part.eval_token = plan_.eval_token;
    part.priority = plan_.priority;
    part.all_at_once = plan_.all_at_once;
    part.snapshot_index = plan_.snapshot_index;
    part.job = plan_.job;
    part.metrics = plan_.metrics;
    part.is_part = true;
    gauge_.begin(0);
  }

  /// Ends first.
  void add_in_pieces(const std::string& node, const NodeChanges& changes) {
    const auto first = parts_.size() - 1;
    add_each(node, changes.stops, &NodeChanges::stops);
    add_each(node, changes.preemptions, &NodeChanges::preemptions);
    add_each(node, changes.placements, &NodeChanges::placements);
    std::vector<state::AllocRef> ended;
    for (auto part = first; part < parts_.size(); ++part) {
      const auto piece = parts_[part].nodes.find(node);
      if (piece == parts_[part].nodes.end()) continue;
      piece->second.ended_before = ended;
      for (const auto* stops : {&piece->second.stops, &piece->second.preemptions})
        for (const auto& stop : *stops)
          ended.push_back(stop.alloc);
    }
  }

  template <class Item>
  void add_each(const std::string& node,
                const std::vector<Item>& items,
                std::vector<Item> NodeChanges::*list) {
    for (const auto& item : items) {
      if (gauge_.bytes() > most_) begin_part();
      gauge_.add(item);
      (parts_.back().nodes[node].*list).push_back(item);
    }
  }

  const Plan& plan_;
  std::size_t most_;
  Gauge gauge_;
  std::deque<Plan> parts_;
};

}  // namespace

std::size_t Plan::placement_count() const {
  std::size_t count = 0;
  for (const auto& [node, changes] : nodes)
    count += changes.placements.size();
  return count;
}

PlanParts::PlanParts(std::shared_ptr<const Plan> plan, const PartLimits& limits)
    : plan_{std::move(plan)}, known_index_{plan_->snapshot_index} {
  const auto most = plan_->all_at_once ? limits.entry_bytes : limits.part_bytes;
  if (bytes_of(*plan_) <= most) return;
  parts_ = PlanSplitter{*plan_, most}.cut();
  is_cut_ = parts_.size() > 1;
  if (!is_cut_) parts_.clear();
}

void PlanParts::settle(const PlanResult& result) {
  has_begun_ = true;
  result_.rejected_nodes.insert(result.rejected_nodes.begin(), result.rejected_nodes.end());
  result_.alloc_index = std::max(result_.alloc_index, result.alloc_index);
  result_.refresh_index = std::max(result_.refresh_index, result.refresh_index);
  result_.made_progress = result_.made_progress || result.made_progress;
  result_.completion_written = result.completion_written;
  known_index_ = std::max(known_index_, result.alloc_index);
  if (!is_cut_) {
    is_done_ = true;
    return;
  }
  auto over = std::move(parts_.front());
  parts_.pop_front();
  if (plan_->all_at_once && !result.is_full()) parts_.clear();
  drop_nodes(result);
  is_done_ = parts_.empty();
  if (is_done_) return;
  if (!result_.made_progress) pass_on(over);
  if (!result_.is_full()) parts_.back().completion = {};
}

/// A node that has refused a piece of its changes is not asked for the next: it may rest on that.
void PlanParts::drop_nodes(const PlanResult& result) {
  if (result.is_full()) return;
  for (auto& part : parts_)
    for (const auto& [node, reason] : result.rejected_nodes)
      part.nodes.erase(node);
  std::erase_if(parts_, [](const Plan& part) { return part.nodes.empty(); });
}

/// What belongs to the whole plan was not written with `refused`.
void PlanParts::pass_on(Plan& refused) {
  auto& next = parts_.front();
  next.deployment = std::move(refused.deployment);
  next.deployment_changes = std::move(refused.deployment_changes);
  next.evaluations = std::move(refused.evaluations);
}

}  // namespace nomad::scheduler
