#include "runtime/scheduler/attempt.hpp"

#include <string>
#include <unordered_map>
#include <utility>

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/scheduler/plan/placement_rules.hpp"
#include "runtime/scheduler/reconcile/tasks_updated.hpp"

namespace nomad::scheduler {
namespace {

/// For how many placements of one group a plan tells what other nodes scored. Each has the scores
/// of its own node.
constexpr std::size_t most_comparisons = 32;

std::vector<state::AllocRef> rows_of_job(const state::Snapshot& state,
                                         schema::Evaluation::Reader eval) {
  std::vector<state::AllocRef> rows;
  const auto range = state.allocs_by_job(view(eval.getNamespace()), view(eval.getJobId()));
  for (const auto& entry : range)
    rows.push_back(entry.value());
  return rows;
}

std::vector<AllocEntry> entries_of(const std::vector<state::AllocRef>& rows) {
  std::vector<AllocEntry> entries;
  entries.reserve(rows.size());
  for (const auto& row : rows)
    entries.push_back({row});
  return entries;
}

bool is_tainted(schema::Node::Reader node) {
  return node.getStatus() == schema::NodeStatus::DOWN
         || node.getStatus() == schema::NodeStatus::DISCONNECTED || node.hasDrainStrategy();
}

TaintedNodes tainted_nodes(const state::Snapshot& state, const std::vector<AllocEntry>& allocs) {
  TaintedNodes tainted;
  std::map<std::string_view, bool> seen;
  for (const auto& entry : allocs) {
    const auto id = entry.alloc().node_id();
    if (!seen.emplace(id, true).second) continue;
    auto node = state.node(id);
    if (!node || is_tainted(*node)) tainted.emplace(id, std::move(node));
  }
  return tainted;
}

}  // namespace

NodeChoice choose_nodes(const state::Snapshot& state, schema::Job::Reader job) {
  struct Datacenter {
    bool is_wanted = false;
    std::int64_t ready = 0;
  };

  NodeChoice choice;
  std::unordered_map<std::string_view, Datacenter> datacenters;
  choice.ready.reserve(state.nodes_map().size());
  for (auto cursor = state.nodes_map().first(); cursor.valid(); cursor.next()) {
    const auto& node = cursor.value();
    const auto reader = *node;
    if (!is_in_pool(reader, job)) continue;
    if (!is_ready(reader)) {
      choice.not_ready.push_back(&node);
      continue;
    }
    const auto name = view(reader.getDatacenter());
    const auto [known, is_new] = datacenters.try_emplace(name);
    auto& [is_wanted, ready] = known->second;
    if (is_new) is_wanted = is_in_datacenter(name, job);
    if (!is_wanted) continue;
    choice.ready.push_back(&node);
    ++ready;
  }
  for (const auto& [name, datacenter] : datacenters)
    if (datacenter.is_wanted) choice.by_datacenter.emplace(name, datacenter.ready);
  return choice;
}

Attempt::Attempt(const Moment& given,
                 const Object<schema::Evaluation>& eval,
                 Random& generator,
                 SelectorOptions selector_options)
    : moment{given},
      random{generator},
      options{selector_options},
      rows{rows_of_job(given.state, *eval)},
      allocs{entries_of(rows)},
      tainted{tainted_nodes(given.state, allocs)},
      proposal{given.state, rows, given.reservations} {
  const auto reader = *eval;
  const auto config = given.state.scheduler_configuration();
  options.preemption = may_preempt(view(reader.getType()), config->getPreemptionConfig());
  if (auto object = given.state.job(view(reader.getNamespace()), view(reader.getJobId()))) {
    job = std::make_unique<JobSpec>(std::move(object));
    options = options_for(job->reader());
    proposal.bound(view(reader.getNamespace()), given.region);
    selector = std::make_unique<Selector>(*job, given.state, rows, proposal, eligibility, random,
                                          options);
    plan.job = job->object();
    plan.all_at_once = job->reader().getAllAtOnce();
  }
  plan.eval_id = copy(reader.getId());
  plan.priority = reader.getPriority();
  plan.snapshot_index = given.state.index();
}

SelectorOptions Attempt::options_for(schema::Job::Reader version) const {
  const auto rules = placement_rules(moment.state, view(version.getNodePool()));
  auto result = options;
  result.spread_fit = rules.spreads;
  result.memory_oversubscription = rules.memory_oversubscription;
  return result;
}

std::string_view Attempt::quota_name() const {
  const auto* quota = proposal.quota();
  return quota != nullptr ? std::string_view{quota->limits.name()} : std::string_view{};
}

void Attempt::count_change(schema::Node::Reader node, std::string_view group, int by) {
  if (selector) selector->count_change(node, group, by);
  for (auto* other : others_)
    other->count_change(node, group, by);
}

void Attempt::inform(Selector& other) {
  for (const auto& [node_id, changes] : plan.nodes) {
    const auto node = moment.state.node(node_id);
    if (!node) continue;
    for (const auto& stop : changes.stops)
      if (!stop.alloc->terminal()) other.count_change(*node, stop.alloc->alloc->task_group(), -1);
    for (const auto& placed : changes.placements)
      if (placed.is_new) other.count_change(*node, placed.row->task_group(), 1);
  }
  others_.push_back(&other);
}

void Attempt::stop(PlannedStop stop) {
  const auto alloc = *stop.alloc->alloc;
  proposal.stop(stop.alloc);
  if (!stop.alloc->terminal()) {
    if (const auto node = moment.state.node(alloc.node_id()))
      count_change(*node, alloc.task_group(), -1);
  }
  last_stop_ = stop;
  plan.nodes[std::string{alloc.node_id()}].stops.push_back(std::move(stop));
}

void Attempt::unstop() {
  const auto alloc = *last_stop_->alloc->alloc;
  proposal.unstop(last_stop_->alloc);
  if (!last_stop_->alloc->terminal()) {
    if (const auto node = moment.state.node(alloc.node_id()))
      count_change(*node, alloc.task_group(), 1);
  }
  const auto changes = plan.nodes.find(alloc.node_id());
  changes->second.stops.pop_back();
  const auto& rest = changes->second;
  if (rest.stops.empty() && rest.placements.empty() && rest.preemptions.empty())
    plan.nodes.erase(changes);
  last_stop_.reset();
}

void Attempt::place(PlannedAlloc row, std::string_view group) {
  const auto node_id = std::string{row.row->node_id()};
  if (!group.empty()) {
    proposal.place(row, group);
    if (auto* node = proposal.node(node_id)) count_change(node->reader(), group, 1);
  }
  plan.nodes[node_id].placements.push_back(std::move(row));
}

void Attempt::place(PlannedAlloc row, std::string_view group, const Preempted& preempted) {
  const auto id = std::string{row.row->id()};
  for (const auto& other : preempted) {
    proposal.preempt(other);
    plan.nodes[std::string{other->alloc->node_id()}].preemptions.push_back(
        {other, schema::DesiredStatus::EVICT, {}, {}, {}, id});
  }
  place(std::move(row), group);
}

void Attempt::withdraw_update(const AllocEntry& alloc) {
  const auto changes = plan.nodes.find(alloc.alloc().node_id());
  if (changes == plan.nodes.end()) return;
  std::erase_if(changes->second.placements,
                [&alloc](const PlannedAlloc& placed) { return placed.row->id() == alloc.id(); });
}

void Attempt::finish_lost_stops() {
  for (const auto& entry : allocs) {
    const auto* node = taint_of(entry);
    if (node == nullptr || (*node && (*node)->getStatus() != schema::NodeStatus::DOWN)) continue;
    const auto status = entry.alloc().client_status();
    const bool was_alive
        = status == schema::ClientStatus::RUNNING || status == schema::ClientStatus::PENDING;
    if (!entry.row->server_terminal || !was_alive) continue;
    stop({entry.row,
          schema::DesiredStatus::STOP,
          std::string{alloc_lost},
          schema::ClientStatus::LOST,
          {},
          {}});
  }
}

const Object<schema::Node>* Attempt::taint_of(const AllocEntry& alloc) const {
  const auto node = tainted.find(alloc.alloc().node_id());
  return node == tainted.end() ? nullptr : &node->second;
}

std::uint32_t Attempt::keep_metric(const AllocEntry& alloc) {
  if (!alloc.row->metric) return static_cast<std::uint32_t>(-1);
  const auto* key = alloc.row->metric.bytes().data();
  const auto number = static_cast<std::uint32_t>(plan.metrics.size());
  const auto [known, is_new] = kept_metrics_.emplace(key, number);
  if (is_new) plan.metrics.push_back(alloc.row->metric);
  return known->second;
}

std::uint32_t Attempt::add_metric(std::string_view group,
                                  std::string_view node_id,
                                  const MetricBuilder& metrics) {
  auto known = comparisons_.find(group);
  if (known == comparisons_.end()) known = comparisons_.emplace(std::string{group}, 0).first;
  const bool compares = known->second < most_comparisons;
  if (compares) ++known->second;
  const auto number = static_cast<std::uint32_t>(plan.metrics.size());
  plan.metrics.push_back(compares ? metrics.build() : metrics.build_for(node_id));
  return number;
}

std::optional<Selection> select_in_place(Attempt& attempt,
                                         const AllocEntry& alloc,
                                         const GroupSpec& group) {
  const auto row = alloc.alloc();
  const auto node = attempt.moment.state.node(row.node_id());
  if (!node || !is_in_job_scope(*node, attempt.job->reader())) return std::nullopt;
  attempt.stop({alloc.row, schema::DesiredStatus::STOP, std::string{alloc_updating}, {}, {}, {}});
  MetricBuilder metrics;
  SelectRequest request;
  request.alloc_name = alloc.name();
  auto selection = attempt.selector->select_on(node, group, request, metrics);
  attempt.unstop();
  return selection;
}

bool VersionComparison::tasks_updated(const AllocEntry& alloc,
                                      const JobSpec& job,
                                      const GroupSpec& group) {
  const auto key
      = std::make_pair(static_cast<const void*>(alloc.row->job.bytes().data()), group.name);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const bool updated = scheduler::tasks_updated(alloc.job(), job.reader(), group.name);
  known_.emplace(key, updated);
  return updated;
}

std::optional<Step> settle(const Moment& moment,
                           const PlanResult& result,
                           Step& finished,
                           Progress& progress,
                           EvalOutcome& outcome,
                           int limit) {
  if (result.is_full()) {
    if (result.completion_written) finished.evaluations.clear();
    return std::move(finished);
  }
  progress.fruitless = result.made_progress ? 0 : progress.fruitless + 1;
  if (result.made_progress)
    progress.blocked_id = outcome.blocked_id();
  else
    outcome.forget_blocked(progress.blocked_id);
  if (progress.fruitless < limit) return std::nullopt;
  Step step;  // Too many conflicts with other plans: the rest waits in a blocked evaluation.
  step.evaluations.push_back(outcome.make_conflicted(moment.state.index(), moment.now));
  step.evaluations.push_back(
      outcome.finished(schema::EvalStatus::FAILED,
                       "maximum attempts reached (" + std::to_string(limit) + ")", moment.now));
  return step;
}

}  // namespace nomad::scheduler
