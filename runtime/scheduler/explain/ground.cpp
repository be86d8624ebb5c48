#include "runtime/scheduler/explain/ground.hpp"

#include <utility>

#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/scheduler/plan/placement_rules.hpp"

namespace nomad::scheduler::explain {
namespace {

SelectorOptions options_of(const state::Snapshot& state, schema::Job::Reader job) {
  const auto rules = placement_rules(state, view(job.getNodePool()));
  const auto config = state.scheduler_configuration();
  const auto type = view(job.getType());
  SelectorOptions options;
  options.spread_fit = rules.spreads;
  options.memory_oversubscription = rules.memory_oversubscription;
  options.preemption = may_preempt(type, config->getPreemptionConfig());
  options.is_batch = type == "batch";
  options.is_system = type == "system" || type == "sysbatch";
  return options;
}

}  // namespace

Ground::Ground(const state::Snapshot& state,
               Object<schema::Job> job,
               const std::vector<state::AllocRef>& rows,
               const state::AllocRef& without)
    : state_{state},
      job_{std::move(job)},
      options_{options_of(state, job_.reader())},
      proposal_{state, rows, nullptr},
      selector_{job_, state, rows, proposal_, eligibility_, random_, options_} {
  if (!without || without->client_terminal) return;
  proposal_.stop(without);
  if (without->terminal()) return;
  if (const auto node = state.node(without->alloc->node_id()))
    selector_.count_change(*node, without->alloc->task_group(), -1);
}

void Ground::bind(std::string_view region) {
  proposal_.bound(view(job_.reader().getNamespace()), region);
}

std::optional<Selection> Ground::place_on(const Object<schema::Node>& node,
                                          const GroupSpec& group,
                                          std::string_view alloc_name) {
  if (!is_ready(*node) || !is_in_job_scope(*node, job_.reader())) return std::nullopt;
  SelectRequest request;
  request.alloc_name = alloc_name;
  MetricBuilder metrics;
  auto selection = selector_.select_on(node, group, request, metrics);
  if (selection || !options_.preemption) return selection;
  request.may_preempt = true;
  return selector_.select_on(node, group, request, metrics);
}

}  // namespace nomad::scheduler::explain
