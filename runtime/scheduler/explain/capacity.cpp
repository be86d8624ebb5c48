#include "runtime/scheduler/explain/capacity.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/explain/group_pass.hpp"
#include "runtime/scheduler/reconcile/name_index.hpp"

namespace nomad::scheduler::explain {
namespace {

/// Whether one allocation changes nothing but amounts for the next one.
bool takes_only_amounts(const GroupSpec& group) {
  const bool has_task_networks = std::ranges::any_of(group.tasks, [](const TaskSpec& task) {
    return task.cores > 0 || task.task.getResources().getNetworks().size() > 0;
  });
  return !group.has_network() && !group.has_devices && !has_task_networks
         && !group.distinct_hosts_of_job && !group.distinct_hosts_of_group
         && group.distinct_properties.empty() && group.csi_volumes.empty();
}

/// How many of what is asked for are free, and which amount is the first to end.
NodeCapacity divided(const Amounts& amounts, std::int64_t most) {
  NodeCapacity result{.node = {}, .more = most, .binds = Obstacle::room};
  for (const auto what : {Obstacle::cpu, Obstacle::memory, Obstacle::disk}) {
    const auto& amount = amounts.of(what);
    if (amount.asked <= 0 || amount.free / amount.asked >= result.more) continue;
    result.more = amount.free / amount.asked;
    result.binds = what;
  }
  return result;
}

/// One more of the group in the ground's proposal, where the selection says.
void take(Ground& ground,
          const GroupSpec& group,
          const std::string& name,
          std::int64_t number,
          const Selection& selection) {
  const auto job = ground.job().reader();
  const auto node = selection.node->reader();
  Draft<schema::Allocation> row;
  row->setId(text(fmt::format("{}-{}", view(node.getId()), number)));
  row->setName(text(name));
  row->setNamespace(job.getNamespace());
  row->setJobId(job.getId());
  row->setTaskGroup(text(group.name));
  row->setNodeId(node.getId());
  fill_resources(row->initAllocatedResources(), group, selection,
                 ground.options().memory_oversubscription);
  PlannedAlloc placed;
  placed.row = row.freeze();
  placed.demand = selection.demand;
  placed.is_new = true;
  ground.proposal().place(placed, group.name);
  ground.selector().count_change(node, group.name, 1);
}

/// Gives out one after the other.
NodeCapacity given_out(NodeJudge& judge,
                       const Object<schema::Node>& node,
                       Verdict verdict,
                       std::int64_t most,
                       WorkBudget& budget) {
  NodeCapacity result{.node = {}, .more = 0, .binds = Obstacle::room};
  while (verdict.fits() && verdict.selection->preempted.empty() && result.more < most) {
    if (budget.is_spent()) break;
    take(judge.ground(), judge.group(), judge.alloc_name(), result.more, *verdict.selection);
    ++result.more;
    std::uint64_t work = 0;
    verdict = judge.judge(node, true, work);
    budget.spend(work);
  }
  if (!verdict.against.empty()) result.binds = obstacle_of(verdict.against.front());
  return result;
}

state::QuotaUse times(const state::QuotaUse& one, std::int64_t count) {
  auto all = one;
  all.demand.cpu_mhz *= count;
  all.demand.memory_mb *= count;
  all.demand.memory_max_mb *= count;
  all.cores *= count;
  all.allocations *= count;
  for (auto& [name, instances] : all.devices)
    instances *= count;
  return all;
}

/// How many of `one` the quota lets through, up to `most`; -1 without a quota.
std::int64_t in_quota(const Ground& ground,
                      const GroupSpec& group,
                      const state::Snapshot& state,
                      const std::vector<state::AllocRef>& rows,
                      const Question& question,
                      std::int64_t most) {
  Ground bound{state, ground.job().object(), rows};
  bound.bind(question.region);
  const auto* quota = bound.proposal().quota();
  if (quota == nullptr) return -1;
  // What depends on the node (cores) is not counted here; the schedulers do.
  state::QuotaUse one{
      .demand = bound.selector().demand_on(group, {}), .cores = 0, .allocations = 1, .devices = {}};
  if (!ground.options().memory_oversubscription) one.demand.memory_max_mb = one.demand.memory_mb;
  for (const auto& task : group.tasks)
    one.cores += task.cores;
  std::int64_t fits = 0;
  auto too_many = most + 1;
  while (too_many - fits > 1) {
    const auto middle = fits + (too_many - fits) / 2;
    (quota->exceeded_with(times(one, middle)).empty() ? fits : too_many) = middle;
  }
  return fits;
}

class CapacityCount {
public:
  CapacityCount(const state::Snapshot& state,
                const Object<schema::Job>& job,
                const std::vector<state::AllocRef>& rows,
                const GroupSpec& group,
                WorkBudget& budget)
      : state_{state},
        ground_{state, job, rows},
        judge_{ground_, *ground_.job().find(group.name),
               alloc_name(view(job->getId()), group.name, 0)},
        budget_{budget} {}

  GroupCapacity count() {
    const auto& group = judge_.group();
    const bool is_plain = !ground_.options().is_system && takes_only_amounts(group);
    GroupCapacity out{.name = std::string{group.name}};
    for (auto cursor = state_.nodes_map().first(); cursor.valid(); cursor.next()) {
      if (budget_.is_spent() || out.more >= most_counted) {
        out.is_bounded = true;
        break;
      }
      ++out.looked_at;
      std::uint64_t work = 0;
      auto verdict = judge_.judge(cursor.value(), false, work);
      budget_.spend(work);
      if (!verdict.fits() || !verdict.selection->preempted.empty()) continue;
      const auto most = most_counted - out.more;
      add(out, cursor.value(),
          is_plain ? divided(*verdict.amounts, most)
                   : given_out(judge_, cursor.value(), std::move(verdict), most, budget_));
    }
    out.is_bounded = out.is_bounded || out.more >= most_counted;
    finish(out);
    return out;
  }

  Ground& ground() { return ground_; }

private:
  void add(GroupCapacity& out, const Object<schema::Node>& node, NodeCapacity here) {
    here.node = {copy(node->getId()), copy(node->getName())};
    out.more += here.more;
    ++out.nodes;
    ++binds_[here.binds];
    out.largest.push_back(std::move(here));
  }

  void finish(GroupCapacity& out) const {
    sort_stably(out.largest, std::ranges::greater{}, &NodeCapacity::more);
    if (out.largest.size() > most_capacity_nodes) out.largest.resize(most_capacity_nodes);
    for (const auto& [what, nodes] : binds_)
      out.binds.push_back({what, nodes});
    sort_stably(out.binds, std::ranges::greater{}, &Binding::nodes);
  }

  const state::Snapshot& state_;
  Ground ground_;
  NodeJudge judge_;
  WorkBudget& budget_;
  std::map<Obstacle, std::size_t> binds_;
};

}  // namespace

Result<std::vector<GroupCapacity>> capacity(const state::Snapshot& state,
                                            const Question& question) {
  const auto job = state.job(question.ns, question.job_id);
  if (!job) return Error{Errc::not_found, "job not found"};
  std::vector<state::AllocRef> rows;
  for (const auto& entry : state.allocs_by_job(question.ns, question.job_id))
    rows.push_back(entry.value());
  const JobSpec spec{job};
  if (!question.group.empty() && spec.find(question.group) == nullptr)
    return Error{Errc::not_found, fmt::format("group \"{}\" not found", question.group)};
  WorkBudget budget{question.most_work, question.goes_on};
  std::vector<GroupCapacity> all;
  for (const auto& group : spec.groups()) {
    if (!question.group.empty() && group.name != question.group) continue;
    if (all.size() == most_groups) break;
    CapacityCount count{state, job, rows, group, budget};
    auto one = count.count();
    for (const auto& row : rows)
      if (!row->terminal() && row->alloc->task_group() == group.name) ++one.live;
    one.in_quota = in_quota(count.ground(), group, state, rows, question, one.more);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace nomad::scheduler::explain
