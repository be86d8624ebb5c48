#include "runtime/scheduler/placement/proposal.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::scheduler {

const NodeNetwork* ProposedNode::network() {
  if (!network_) network_.emplace(NodeNetwork::make(*node_));
  return network_->has_value() ? &**network_ : nullptr;
}

Proposal::Proposal(const state::Snapshot& state,
                   const std::vector<state::AllocRef>& job_allocs,
                   const Reservations* reservations)
    : state_{state}, reservations_{reservations} {
  for (const auto& row : job_allocs) {
    if (row->client_terminal) continue;
    const auto alloc = *row->alloc;
    count(alloc.node_id(), alloc.task_group(), 1);
  }
}

void Proposal::bound(std::string_view ns, std::string_view region) {
  auto limits = QuotaLimits::of(state_, ns, region);
  if (!limits) return;
  auto use = state_.quota_use(limits->name());
  if (reservations_ != nullptr) reservations_->apply(limits->name(), state_, use);
  quota_.emplace(QuotaBudget{std::move(*limits), use, use});
}

/// To the quota, if that is its own, too.
void Proposal::give_back(const state::AllocRef& row) {
  if (!quota_ || row->terminal()) return;
  if (state_.quota_of(row->alloc->ns()) == quota_->limits.name())
    quota_->now -= state::quota_use_of(row->demand, row->alloc->resources());
}

ProposedNode* Proposal::node(std::string_view id) {
  if (const auto known = nodes_.find(id); known != nodes_.end()) return known->second.get();
  const auto object = state_.node(id);
  return object ? &node(object) : nullptr;
}

ProposedNode& Proposal::node(const Object<schema::Node>& found) {
  const auto id = view(found->getId());
  if (const auto known = nodes_.find(id); known != nodes_.end()) return *known->second;
  const auto* base = state_.usage(id);
  state::NodeUsage usage = base != nullptr ? *base : state::NodeUsage{};
  if (reservations_ != nullptr) reservations_->apply(id, state_, usage);
  auto node = std::make_unique<ProposedNode>(found, std::move(usage));
  return *nodes_.emplace(id, std::move(node)).first->second;
}

const JobUsage& Proposal::job_usage(std::string_view node_id) const {
  static const JobUsage none;
  const auto known = job_usage_.find(node_id);
  return known == job_usage_.end() ? none : known->second;
}

void Proposal::count(std::string_view node_id, std::string_view group, int change) {
  auto usage = job_usage_.find(node_id);
  if (usage == job_usage_.end()) usage = job_usage_.emplace(std::string{node_id}, JobUsage{}).first;
  usage->second.total += static_cast<std::size_t>(change);
  usage->second.by_group[group] += static_cast<std::size_t>(change);
}

void Proposal::stop(const state::AllocRef& row) {
  if (row->client_terminal) return;
  const auto alloc = *row->alloc;
  if (auto* known = node(alloc.node_id())) known->remove(row->demand, alloc);
  give_back(row);
  count(alloc.node_id(), alloc.task_group(), -1);
  freed_.insert(std::string{alloc.id()});
}

void Proposal::unstop(const state::AllocRef& row) {
  if (row->client_terminal) return;
  const auto alloc = *row->alloc;
  if (auto* known = node(alloc.node_id())) known->add(row->demand, alloc);
  if (quota_ && !row->terminal())
    quota_->now += state::quota_use_of(row->demand, alloc.resources());
  count(alloc.node_id(), alloc.task_group(), 1);
  freed_.erase(std::string{alloc.id()});
}

void Proposal::preempt(const state::AllocRef& row) {
  const auto alloc = *row->alloc;
  if (auto* known = node(alloc.node_id())) known->remove(row->demand, alloc);
  give_back(row);
  freed_.insert(std::string{alloc.id()});
  ++preemptions_[{std::string{alloc.ns()}, std::string{alloc.job_id()},
                  std::string{alloc.task_group()}}];
}

std::vector<state::AllocRef> Proposal::allocs_on(std::string_view node_id) const {
  std::vector<state::AllocRef> rows;
  for (const auto& entry : state_.allocs_by_node(node_id)) {
    const auto& row = entry.value();
    if (!row->client_terminal && !freed_.contains(row->alloc->id())) rows.push_back(row);
  }
  return rows;
}

Bandwidth Proposal::bandwidth(std::string_view node_id) const {
  Bandwidth used;
  for (const auto& row : allocs_on(node_id))
    add_bandwidth(row->alloc->resources(), used);
  if (const auto placed = with_bandwidth_.find(node_id); placed != with_bandwidth_.end()) {
    for (const auto& row : placed->second)
      add_bandwidth(row->resources(), used);
  }
  if (reservations_ != nullptr) reservations_->apply(node_id, state_, used);
  return used;
}

void Proposal::place(const PlannedAlloc& placed, std::string_view group) {
  const auto alloc = *placed.row;
  const auto node_id = alloc.node_id();
  if (auto* known = node(node_id)) known->add(placed.demand, alloc);
  if (quota_) quota_->now += state::quota_use_of(placed.demand, alloc.resources());
  count(node_id, group, 1);
  if (keeps_placed_) placed_.push_back(placed.row);
  Bandwidth taken;
  add_bandwidth(alloc.resources(), taken);
  if (!taken.empty()) with_bandwidth_[std::string{node_id}].push_back(placed.row);
}

}  // namespace nomad::scheduler
