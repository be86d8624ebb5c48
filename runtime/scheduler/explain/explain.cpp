#include "runtime/scheduler/explain/explain.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "runtime/object/enum_name.hpp"
#include "runtime/scheduler/explain/group_pass.hpp"
#include "runtime/scheduler/explain/waits.hpp"
#include "runtime/scheduler/reconcile/name_index.hpp"

namespace nomad::scheduler::explain {
namespace {

Error unknown(std::string_view what, std::string_view name) {
  return {Errc::not_found, fmt::format("{} \"{}\" not found", what, name)};
}

Error several(std::string_view what, std::string_view name) {
  return {Errc::rejected,
          fmt::format("several {}s begin with \"{}\"; give more of the id", what, name)};
}

Result<Object<schema::Node>> find_node(const state::Snapshot& state, const std::string& name) {
  if (name.empty()) return Object<schema::Node>{};
  if (auto exact = state.node(name)) return exact;
  Object<schema::Node> found;
  for (const auto& entry : state.nodes(name)) {
    if (found) return several("node", name);
    found = entry.value();
  }
  if (found) return found;
  for (auto cursor = state.nodes_map().first(); cursor.valid(); cursor.next()) {
    if (view(cursor.value()->getName()) != name) continue;
    if (found)
      return Error{Errc::rejected,
                   fmt::format("several nodes have the name \"{}\"; give the id of one", name)};
    found = cursor.value();
  }
  if (!found) return unknown("node", name);
  return found;
}

Result<state::AllocRef> find_alloc(const std::vector<state::AllocRef>& rows,
                                   const std::string& id) {
  if (id.empty()) return state::AllocRef{};
  state::AllocRef found;
  for (const auto& row : rows) {
    if (!row->alloc->id().starts_with(id)) continue;
    if (row->alloc->id() == id) return row;
    if (found) return several("allocation", id);
    found = row;
  }
  if (!found) return unknown("allocation", id);
  return found;
}

/// The lowest name that no live allocation of the group has.
std::string next_name(const std::vector<state::AllocRef>& rows,
                      schema::Job::Reader job,
                      const GroupSpec& group) {
  std::vector<std::string_view> in_use;
  for (const auto& row : rows)
    if (!row->terminal() && row->alloc->task_group() == group.name)
      in_use.push_back(row->alloc->name());
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(group.count, 0));
  NameIndex names{view(job.getId()), group.name, count, in_use};
  if (auto free = names.next_free()) return std::move(*free);
  return alloc_name(view(job.getId()), group.name, count);
}

/// The groups that are asked for; those that wait for a place come first.
std::vector<const GroupSpec*> groups_of(const JobSpec& spec,
                                        const state::Snapshot& state,
                                        std::string_view only) {
  std::vector<const GroupSpec*> groups;
  for (const auto& group : spec.groups())
    if (only.empty() || group.name == only) groups.push_back(&group);
  const auto job = spec.reader();
  const auto summary = state.job_summary(view(job.getNamespace()), view(job.getId()));
  if (!summary) return groups;
  std::set<std::string_view> waiting;
  for (const auto entry : summary->getSummary())
    if (entry.getValue().getQueued() > 0) waiting.insert(view(entry.getKey()));
  std::stable_partition(groups.begin(), groups.end(), [&waiting](const GroupSpec* group) {
    return waiting.contains(group->name);
  });
  return groups;
}

/// What its placement was scored, among the nodes whose scores were kept.
std::optional<Scored> scored_then(const state::AllocRow& row) {
  if (!row.metric) return std::nullopt;
  std::optional<Scored> own;
  double normalized = 0;
  const auto kept = row.metric->getScoreMetaData();
  for (const auto node : kept) {
    if (view(node.getNodeId()) != row.alloc->node_id()) continue;
    own.emplace(Scored{.normalized = node.getNormScore(), .of = kept.size()});
    normalized = node.getNormScore();
    for (const auto entry : node.getScores())
      own->terms.emplace_back(copy(entry.getKey()), entry.getValue());
  }
  if (!own) return own;
  own->rank = 1;
  for (const auto node : kept)
    if (node.getNormScore() > normalized) ++own->rank;
  return own;
}

AllocAnswer explain_alloc(const state::Snapshot& state,
                          const state::AllocRef& row,
                          std::int64_t now) {
  const auto alloc = *row->alloc;
  AllocAnswer out{.id = std::string{alloc.id()},
                  .name = std::string{alloc.name()},
                  .group = std::string{alloc.task_group()},
                  .node = {std::string{alloc.node_id()}, {}},
                  .desired_status = std::string{enum_name(alloc.desired_status())},
                  .client_status = std::string{enum_name(alloc.client_status())},
                  .then = scored_then(*row)};
  if (row->metric) {
    out.looked_at_then = row->metric->getNodesEvaluated();
    out.filtered_then = row->metric->getNodesFiltered();
    out.exhausted_then = row->metric->getNodesExhausted();
  }
  if (const auto node = state.node(alloc.node_id())) out.node.name = copy(node->getName());
  out.waits = waits_of_alloc(state, row, now);
  return out;
}

}  // namespace

Result<Explanation> explain(const state::Snapshot& state, const Question& question) {
  const auto job = state.job(question.ns, question.job_id);
  if (!job) return Error{Errc::not_found, "job not found"};
  std::vector<state::AllocRef> rows;
  for (const auto& entry : state.allocs_by_job(question.ns, question.job_id))
    rows.push_back(entry.value());
  const auto asked = NOMAD_TRY(find_node(state, question.node));
  const auto alloc = NOMAD_TRY(find_alloc(rows, question.alloc));
  const auto only = alloc ? std::string{alloc->alloc->task_group()} : question.group;
  const JobSpec spec{job};
  if (!question.group.empty() && spec.find(question.group) == nullptr)
    return unknown("group", question.group);
  Explanation out{.ns = question.ns,
                  .job_id = question.job_id,
                  .type = copy(job->getType()),
                  .version = job->getVersion(),
                  .index = state.index()};
  if (alloc) out.alloc = explain_alloc(state, alloc, question.now);
  WorkBudget budget{question.most_work, question.goes_on};
  for (const auto* group : groups_of(spec, state, only)) {
    if (out.groups.size() == most_groups) {
      ++out.other_groups;
      continue;
    }
    auto name = alloc ? std::string{alloc->alloc->name()} : next_name(rows, *job, *group);
    GroupPass pass{state, job, rows, alloc, *group, std::move(name), question, budget};
    auto answer = pass.answer(asked);
    answer.waits = waits_of_group(state, *job, group->name, question.now);
    out.groups.push_back(std::move(answer));
    if (!alloc) continue;
    if (const auto node = state.node(alloc->alloc->node_id())) out.alloc->now = pass.ask(node);
    out.alloc->fitting_now = pass.fitting();
  }
  return out;
}

}  // namespace nomad::scheduler::explain
