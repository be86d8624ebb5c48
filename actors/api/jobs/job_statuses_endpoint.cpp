// /v1/jobs/statuses: what a page about many jobs shows of each: itself, its allocations or
// children, and its newest deployment; what changed last comes first. Of Nomad 1.8 and later.
//
// A blocking query waits for a change of the jobs that are named, their allocations or deployments;
// without names for any change of these tables (Nomad's for one on its page). Tests:
// job_statuses_test.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/jobs/job_endpoint.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/object/enum_name.hpp"
#include "runtime/object/job_kind.hpp"
#include "runtime/object/task_pause.hpp"

namespace nomad::api {
namespace {

using state::Snapshot;
using state::Table;
using JobRef = Object<schema::Job>;

struct StatusesRequest {
  std::set<std::pair<std::string, std::string>> jobs = {};  ///< Namespace and id; empty: all.
  bool include_children = false;
};

/// More than a page can show, and less than what would hold the state's thread of a request.
constexpr std::size_t most_named = 10'000;

Result<StatusesRequest> read_request(const net::Request& request) {
  StatusesRequest out;
  out.include_children = NOMAD_TRY(bool_parameter(request, "include_children"));
  if (request.method == "GET") return out;
  const auto body = NOMAD_TRY(read_body(request));
  BodyFields fields{body, "JobStatusesRequest"};
  out.include_children |= fields.boolean("IncludeChildren");
  if (const auto* jobs = fields.array("Jobs")) {
    for (const auto& named : jobs->elements()) {
      if (out.jobs.size() == most_named)
        return bad_request("Jobs names more than " + std::to_string(most_named)
                           + " jobs; ask for them in parts");
      BodyFields job{named, "NamespacedID"};
      auto ns = job.text("Namespace");
      out.jobs.emplace(ns.empty() ? "default" : std::move(ns), job.text("ID"));
      NOMAD_TRY(job.check());
    }
  }
  NOMAD_TRY(fields.check());
  return out;
}

void append_children(std::string& out, const Snapshot& state, schema::Job::Reader parent) {
  std::vector<std::string_view> statuses;
  for (const auto& entry : state.jobs(view(parent.getNamespace()), view(parent.getId())))
    if (view(entry.value()->getParentId()) == view(parent.getId()))
      statuses.push_back(view(entry.value()->getStatus()));
  append_json_texts(out, statuses);
}

bool has_paused_task(AllocView alloc) {
  for (const auto entry : alloc.task_states())
    if (is_pause(entry.getValue().getPaused())) return true;
  return false;
}

void append_allocs(std::string& out, const Snapshot& state, schema::Job::Reader job) {
  out += '[';
  bool is_first = true;
  for (const auto& entry : state.allocs_by_job(view(job.getNamespace()), view(job.getId()))) {
    const auto& alloc = entry.value()->alloc;
    if (!std::exchange(is_first, false)) out += ',';
    JsonObject object{out};
    object.text("ClientStatus", enum_name(alloc->client_status()));
    {
      JsonObject health{object.raw("DeploymentStatus")};
      health.boolean("Canary", alloc->is_canary());
      if (const auto healthy = alloc->health())
        health.boolean("Healthy", *healthy);
      else
        health.null("Healthy");
    }
    object.text("FollowupEvalID", alloc->followup_eval_id())
        .text("Group", alloc->task_group())
        .boolean("HasPausedTask", has_paused_task(*alloc))
        .text("ID", alloc->id())
        .number("JobVersion", alloc->job_version())
        .text("NodeID", alloc->node_id());
  }
  out += ']';
}

void append_deployment(std::string& out, schema::Deployment::Reader deployment) {
  const bool is_running = deployment.getStatus() == schema::DeploymentState::RUNNING;
  bool promotes = is_running && deployment.getTaskGroups().size() != 0;
  bool waits = false;
  for (const auto entry : deployment.getTaskGroups()) {
    const auto group = entry.getValue();
    if (group.getDesiredCanaries() == 0) continue;
    promotes = promotes && group.getAutoPromote();
    waits = waits || (is_running && !group.getPromoted());
  }
  JsonObject{out}
      .boolean("AllAutoPromote", promotes)
      .text("ID", deployment.getId())
      .boolean("IsActive", state::is_active(deployment.getStatus()))
      .number("JobVersion", deployment.getJobVersion())
      .boolean("RequiresPromotion", waits)
      .text("Status", enum_name(deployment.getStatus()))
      .text("StatusDescription", deployment.getStatusDescription());
}

void append_status(std::string& out, const Snapshot& state, schema::Job::Reader job) {
  const bool has_children = is_parameterized(job) || job.hasPeriodic();
  std::int64_t wanted = 0;
  for (const auto group : job.getTaskGroups())
    wanted += group.getCount();
  JsonObject object{out};
  if (has_children)
    object.null("Allocs");
  else
    append_allocs(object.raw("Allocs"), state, job);
  if (has_children)
    append_children(object.raw("ChildStatuses"), state, job);
  else
    object.null("ChildStatuses");
  append_json_list(object.raw("Datacenters"), job.getDatacenters(),
                   [](std::string& to, auto name) { append_json_text(to, view(name)); });
  object.number("GroupCountSum", wanted)
      .text("ID", job.getId())
      .boolean("IsPack", find_text(job.getMeta(), "pack.name").has_value());
  const auto deployment
      = has_children ? Object<schema::Deployment>{}
                     : state.latest_deployment(view(job.getNamespace()), view(job.getId()));
  if (deployment)
    append_deployment(object.raw("LatestDeployment"), *deployment);
  else
    object.null("LatestDeployment");
  object.number("ModifyIndex", job.getModifyIndex())
      .text("Name", job.getName())
      .text("Namespace", job.getNamespace())
      .text("NodePool", job.getNodePool())
      .text("ParentID", job.getParentId())
      .number("Priority", job.getPriority())
      .text("Status", job.getStatus())
      .boolean("Stop", job.getStop())
      .number("SubmitTime", job.getSubmitTime())
      .text("Type", job.getType())
      .number("Version", job.getVersion());
}

/// Where a job stands in the list.
struct Position {
  std::uint64_t modify_index = 0;
  std::string_view ns = {};
  std::string_view id = {};

  friend auto operator<=>(const Position&, const Position&) = default;
};

Position position_of(const JobRef& job) {
  return {job->getModifyIndex(), view(job->getNamespace()), view(job->getId())};
}

/// The token of a page that begins with this job: "17.<namespace>.<id>".
std::string token_of(const JobRef& job) {
  const auto [modify_index, ns, id] = position_of(job);
  return query::CreateToken::make(modify_index, query::NameToken::make(ns, id));
}

/// Takes away what comes before the page that a token names.
void begin_at(std::vector<JobRef>& jobs, const std::string& token, bool reverse) {
  const auto first = query::CreateToken::parse(token);
  if (!first) return;
  const auto name = query::NameToken::parse(first->id);
  const Position begin{first->create_index, name.ns, name.id};
  std::erase_if(jobs, [&](const JobRef& job) {
    return reverse ? position_of(job) < begin : begin < position_of(job);
  });
}

/// The jobs asked for that the caller may read.
Result<std::vector<JobRef>> jobs_of(const View& view_of,
                                    const StatusesRequest& request,
                                    const ReadOptions& options,
                                    const RowFilter& filter) {
  std::vector<JobRef> out;
  std::optional<Error> failure;
  const auto take = [&](const JobRef& job) {
    if (!request.include_children && job->hasParentId() && job->getParentId().size() != 0) return;
    const auto kept = keeps(filter, job);
    if (!kept)
      failure = kept.error();
    else if (*kept)
      out.push_back(job);
  };
  if (!request.jobs.empty()) {
    for (const auto& [ns, id] : request.jobs)
      if (const auto job = view_of.job(ns, id); job && *job) take(*job);
  } else {
    const Walk walk{.prefix = options.all_namespaces() ? "" : state::join_key(options.ns, "")};
    view_of.walk(&Snapshot::jobs_map, walk, [&](const auto& cursor) {
      take(cursor.value());
      return !failure;
    });
  }
  if (failure) return *failure;
  return out;
}

Answer statuses_answer(const View& state,
                       const StatusesRequest& request,
                       const ReadOptions& options,
                       const RowFilter& filter) {
  auto jobs = jobs_of(state, request, options, filter);
  if (!jobs) return Answer::error(jobs.error());
  const auto is_before = [&](const JobRef& left, const JobRef& right) {
    return options.reverse ? position_of(left) < position_of(right)
                           : position_of(right) < position_of(left);
  };
  begin_at(*jobs, options.next_token, options.reverse);
  // Who names jobs gets all of them.
  const bool is_paged = options.per_page > 0 && request.jobs.empty();
  const auto limit = is_paged ? static_cast<std::size_t>(options.per_page) : jobs->size();
  const auto shown = std::min(jobs->size(), limit);
  const auto sorted = std::min(jobs->size(), limit + 1);
  std::ranges::partial_sort(*jobs, jobs->begin() + static_cast<std::ptrdiff_t>(sorted), is_before);
  std::string out = "[";
  for (std::size_t at = 0; at < shown; ++at) {
    const auto& job = (*jobs)[at];
    const auto all = state.in(view(job->getNamespace()));
    if (!all) return Answer::error(all.error());
    if (at != 0) out += ',';
    const auto begin = out.size();
    append_status(out, **all, *job);
    options.fields.keep(out, begin);
  }
  auto answer = Answer::json(out + ']');
  if (shown < jobs->size()) answer.next_token = token_of((*jobs)[shown]);
  return answer;
}

/// Of jobs that are named: the newest change of one, its allocations or its deployments. One that
/// is not there may have been removed by any entry.
std::uint64_t index_of_named(const View& view_of, const StatusesRequest& request) {
  std::uint64_t index = 0;
  for (const auto& [ns, id] : request.jobs) {
    const auto all = view_of.in(ns);
    if (!all) continue;
    const auto job = (*all)->job(ns, id);
    index = std::max(index, job ? job->getModifyIndex() : view_of.index(Table::jobs));
    for (const auto& entry : (*all)->allocs_by_job(ns, id))
      index = std::max(index, entry.value()->alloc->modify_index());
    for (const auto& entry : (*all)->deployments_by_job(ns, id))
      index = std::max(index, entry.value()->getModifyIndex());
  }
  return index;
}

std::uint64_t index_of_all(const View& state) {
  return std::max(
      {state.index(Table::jobs), state.index(Table::allocs), state.index(Table::deployments)});
}

std::vector<state::WatchKey> watched(const StatusesRequest& request) {
  if (request.jobs.empty())
    return {state::watch_prefix(Table::jobs, ""), state::watch_prefix(Table::allocs, ""),
            state::watch_prefix(Table::deployments, "")};
  std::vector<state::WatchKey> keys;
  for (const auto& [ns, id] : request.jobs) {
    const auto key = state::join_key(ns, id);
    for (const auto table : {Table::jobs, Table::allocs_by_job, Table::deployments_by_job})
      keys.push_back(state::watch_key(table, key));
  }
  return keys;
}

}  // namespace

Outcome job_statuses(Call& call) {
  auto request = NOMAD_TRY(read_request(call.request()));
  return read_state(call, [&](const ReadOptions& options) -> Result<Read> {
    auto filter = NOMAD_TRY(compile_filter(options));
    std::function<std::uint64_t(const View&)> index = index_of_all;
    if (!request.jobs.empty())
      index = [request](const View& view) { return index_of_named(view, request); };
    return Read{
        .watch = watched(request),
        .index = std::move(index),
        .answer = [request, options, filter](
                      const View& view) { return statuses_answer(view, request, options, filter); },
        .is_heavy = is_long<&Snapshot::jobs_map>};
  });
}

}  // namespace nomad::api
