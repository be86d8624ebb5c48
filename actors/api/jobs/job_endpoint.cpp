// /v1/jobs and /v1/job/<id>: reading jobs, their versions and what came of them. Ids may contain
// slashes, so the action is the end of the path. Writing is in job_write_endpoint.cpp.
#include "actors/api/jobs/job_endpoint.hpp"

#include <charconv>
#include <optional>

#include "actors/api/allocs/alloc_endpoint.hpp"
#include "actors/api/allocs/exec_endpoint.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/jobs/incoming_job.hpp"
#include "actors/api/jobs/job_logs.hpp"
#include "runtime/object/job_kind.hpp"
#include "runtime/state/map/ascending_lookups.hpp"

namespace nomad::api {
namespace {

using state::Snapshot;
using state::Table;
using JobRef = Object<schema::Job>;

/// The summaries of jobs, asked for in the order of a list.
class Summaries {
public:
  explicit Summaries(const View& view) : view_{view} {}

  /// Null if there is none; valid as long as the view.
  const Object<schema::JobSummary>* find(schema::Job::Reader job) {
    const auto all = view_.in(view(job.getNamespace()));
    if (!all) return nullptr;
    if (!lookups_) lookups_.emplace((*all)->rows<state::kind::JobSummaries>());
    key_.assign(view(job.getNamespace())).append(1, '\0').append(view(job.getId()));
    return lookups_->find(key_);
  }

private:
  const View& view_;
  std::optional<state::AscendingLookups<state::Objects<schema::JobSummary>>> lookups_;
  std::string key_;
};

void add_texts(JsonPieces& out, capnp::List<capnp::Text>::Reader texts) {
  out.add('[');
  bool is_first = true;
  for (const auto text : texts) {
    if (!std::exchange(is_first, false)) out.add(',');
    out.add_text(view(text));
  }
  out.add(']');
}

void add_job_stub(JsonPieces& out, Summaries& summaries, schema::Job::Reader job, bool with_meta) {
  out.number(R"({"CreateIndex":)", job.getCreateIndex()).add(R"(,"Datacenters":)");
  add_texts(out, job.getDatacenters());
  out.text(R"(,"ID":)", view(job.getId()))
      .number(R"(,"JobModifyIndex":)", job.getJobModifyIndex())
      .add(R"(,"JobSummary":)");
  if (const auto* summary = summaries.find(job))
    add_json(out, *summary);
  else
    out.add("null");
  if (with_meta && job.hasMeta()) {
    out.add(R"(,"Meta":)");
    append_json_map(out.string(), job.getMeta(),
                    [](std::string& to, auto value) { append_json_text(to, view(value)); });
  }
  out.number(R"(,"ModifyIndex":)", job.getModifyIndex()).add(R"(,"Multiregion":)");
  out.add(job.getMultiregion().size() != 0 ? view(job.getMultiregion()) : "null");
  out.text(R"(,"Name":)", view(job.getName()))
      .text(R"(,"Namespace":)", view(job.getNamespace()))
      .text(R"(,"NodePool":)", view(job.getNodePool()))
      .boolean(R"(,"ParameterizedJob":)", is_parameterized(job))
      .text(R"(,"ParentID":)", view(job.getParentId()))
      .boolean(R"(,"Periodic":)", job.hasPeriodic())
      .number(R"(,"Priority":)", job.getPriority())
      .text(R"(,"Status":)", view(job.getStatus()))
      .text(R"(,"StatusDescription":)", view(job.getStatusDescription()))
      .boolean(R"(,"Stop":)", job.getStop())
      .number(R"(,"SubmitTime":)", job.getSubmitTime())
      .text(R"(,"Type":)", view(job.getType()))
      .add('}');
}

/// What the list shows of a job.
JobRef listed_part(schema::Job::Reader job, bool with_meta) {
  Draft<schema::Job> draft;
  draft->setId(job.getId());
  draft->setName(job.getName());
  draft->setNamespace(job.getNamespace());
  draft->setDatacenters(job.getDatacenters());
  draft->setNodePool(job.getNodePool());
  draft->setParentId(job.getParentId());
  draft->setPriority(job.getPriority());
  draft->setStatus(job.getStatus());
  draft->setStatusDescription(job.getStatusDescription());
  draft->setStop(job.getStop());
  draft->setSubmitTime(job.getSubmitTime());
  draft->setType(job.getType());
  if (with_meta) draft->setMeta(job.getMeta());
  draft->setCreateIndex(job.getCreateIndex());
  draft->setModifyIndex(job.getModifyIndex());
  draft->setJobModifyIndex(job.getJobModifyIndex());
  return draft.freeze();
}

/// Whether the filter keeps a job. Who may list jobs and not read them learns no more of one by
/// filters than the list shows him.
Result<bool> keeps_job(const View& snapshot,
                       const RowFilter& filter,
                       const JobRef& job,
                       bool with_meta) {
  if (!filter) return true;
  if (snapshot.as(Capability::read_job).judge(view(job->getNamespace()))) return keeps(filter, job);
  return keeps(filter, listed_part(*job, with_meta));
}

std::uint64_t jobs_index(const View& snapshot) {
  return std::max(snapshot.index(Table::jobs), snapshot.index(Table::job_summaries));
}

Outcome list_jobs(Call& call) {
  const bool with_meta = NOMAD_TRY(bool_parameter(call.request(), "meta"));
  return read_state(
      call, [with_meta](const ReadOptions& options) { return job_list(options, with_meta, {}); });
}

/// A read of something that belongs to one job: `snapshot` is for what is of the job's namespace.
using AnswerForJob
    = std::function<Answer(const Snapshot& snapshot, const std::string& ns, const std::string& id)>;

Outcome read_of_job(Call& call, Table table, Table watched, AnswerForJob answer) {
  const auto& id = call.rest;
  return read_state(call, [&](const ReadOptions& options) -> Result<Read> {
    return Read{.watch = {state::watch_key(watched, state::join_key(options.ns, id))},
                .index = [table](const View& snapshot) { return snapshot.index(table); },
                .answer =
                    [ns = options.ns, id, answer](const View& snapshot) {
                      const auto all = snapshot.in(ns);
                      return all ? answer(**all, ns, id) : Answer::error(all.error());
                    }};
  });
}

Outcome read_job(Call& call) {
  return read_state(call, [&](const ReadOptions& options) -> Result<Read> {
    auto read = read_row<Table::jobs>(
        state::join_key(options.ns, call.rest), "job",
        [ns = options.ns, id = call.rest](const View& snapshot) { return snapshot.job(ns, id); },
        whole);
    read.cacheable = true;
    return read;
  });
}

Outcome job_summary(Call& call) {
  return read_of_job(call, Table::job_summaries, Table::job_summaries,
                     [](const Snapshot& snapshot, const std::string& ns, const std::string& id) {
                       const auto summary = snapshot.job_summary(ns, id);
                       return summary ? Answer::json(to_json(*summary))
                                      : Answer::error(not_found("job not found"));
                     });
}

/// The stubs of a job's allocations; without `all`, of those of its present incarnation.
Answer allocations_of(const Snapshot& snapshot,
                      const std::string& ns,
                      const std::string& id,
                      bool all) {
  const auto job = snapshot.job(ns, id);
  std::vector<state::AllocRef> rows;
  for (const auto& entry : snapshot.allocs_by_job(ns, id)) {
    const auto& row = entry.value();
    if (all || !job || row->alloc->job_create_index() == job->getCreateIndex()) rows.push_back(row);
  }
  return Answer::json(stub_list(std::move(rows)));
}

Outcome job_allocations(Call& call) {
  const auto all = bool_parameter(call.request(), "all");  // nonsense means no, here alone
  const auto& id = call.rest;
  return read_state(call, [&](const ReadOptions& options) -> Result<Read> {
    return Read{.watch = {state::watch_key(Table::allocs_by_job, state::join_key(options.ns, id))},
                .index = index_of<Table::allocs>,
                .answer =
                    [ns = options.ns, id, all = all && *all](const View& snapshot) {
                      const auto there = snapshot.in(ns);
                      return there ? allocations_of(**there, ns, id, all)
                                   : Answer::error(there.error());
                    },
                .is_heavy = is_long<&state::Snapshot::allocs_map>,
                .cacheable = true,
                .version =
                    [](const View& snapshot) {
                      return std::max(snapshot.index(Table::allocs), snapshot.index(Table::jobs));
                    }};
  });
}

/// The JSON array of a range's objects, ordered by id.
template <class Range>
std::string list_by_id(const Range& range) {
  using Ref = std::remove_cvref_t<decltype((*range.begin()).value())>;
  std::vector<Ref> objects;
  for (const auto& entry : range)
    objects.push_back(entry.value());
  std::sort(objects.begin(), objects.end(), [](const Ref& left, const Ref& right) {
    return view(left->getId()) < view(right->getId());
  });
  return json_list(objects, append_whole);
}

Outcome job_evaluations(Call& call) {
  return read_of_job(call, Table::evals, Table::evals_by_job,
                     [](const Snapshot& snapshot, const std::string& ns, const std::string& id) {
                       return Answer::json(list_by_id(snapshot.evals_by_job(ns, id)));
                     });
}

Outcome job_deployments(Call& call) {
  return read_of_job(call, Table::deployments, Table::deployments_by_job,
                     [](const Snapshot& snapshot, const std::string& ns, const std::string& id) {
                       return Answer::json(list_by_id(snapshot.deployments_by_job(ns, id)));
                     });
}

Outcome job_deployment(Call& call) {
  return read_of_job(call, Table::deployments, Table::deployments_by_job,
                     [](const Snapshot& snapshot, const std::string& ns, const std::string& id) {
                       const auto newest = snapshot.latest_deployment(ns, id);
                       return Answer::json(newest ? to_json(*newest) : "null");
                     });
}

Outcome job_services(Call& call) {
  return read_of_job(
      call, Table::services, Table::services_by_job,
      [](const Snapshot& snapshot, const std::string& ns, const std::string& id) {
        if (!snapshot.job(ns, id)) return Answer::error(not_found("job not found"));
        std::string out = "[";
        for (const auto& alloc : snapshot.allocs_by_job(ns, id))
          for (const auto& service : snapshot.services_by_alloc(alloc.value()->alloc->id())) {
            if (out.size() > 1) out += ',';
            append_json(out, service.value());
          }
        return Answer::json(out + ']');
      });
}

void append_action(std::string& out,
                   schema::Action::Reader action,
                   std::string_view group,
                   std::string_view task) {
  JsonObject object{out};
  object.text("Name", view(action.getName())).text("Command", view(action.getCommand()));
  if (action.hasArgs())
    append_json_list(object.raw("Args"), action.getArgs(),
                     [](std::string& to, auto word) { append_json_text(to, view(word)); });
  else
    object.null("Args");
  object.text("TaskName", task).text("TaskGroupName", group);
}

/// What users may have run in the tasks of a job, in its order.
std::string actions_of(schema::Job::Reader job) {
  std::string out = "[";
  for (const auto group : job.getTaskGroups())
    for (const auto task : group.getTasks())
      for (const auto action : task.getActions()) {
        if (out.size() > 1) out += ',';
        append_action(out, action, view(group.getName()), view(task.getName()));
      }
  return out + ']';
}

Outcome job_actions(Call& call) {
  return read_state(call, [&](const ReadOptions& options) -> Result<Read> {
    return read_row<Table::jobs>(
        state::join_key(options.ns, call.rest), "job",
        [ns = options.ns, id = call.rest](const View& snapshot) { return snapshot.job(ns, id); },
        [](const View&, const auto& job) { return Answer::json(actions_of(*job)); });
  });
}

/// What a version was registered from.
Outcome job_submission(Call& call) {
  const auto text = call.request().parameter_or_empty("version");
  std::uint64_t version = 0;
  const auto* end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, version);
  if (text.empty() || failure != std::errc{} || stopped != end)
    return bad_request("Unable to parse job submission version parameter");
  const auto& id = call.rest;
  return read_state(call, [&](const ReadOptions& options) -> Result<Read> {
    const auto find = [ns = options.ns, id,
                       version](const View& snapshot) -> Result<Object<schema::JobSubmission>> {
      const auto* all = NOMAD_TRY(snapshot.in(ns));
      return all->job_submission(ns, id, version);
    };
    return Read{
        .watch = {state::watch_key(Table::job_submissions, state::join_key(options.ns, id))},
        .index =
            [find](const View& snapshot) {
              const auto found = find(snapshot);
              if (!found) return at_once;
              return *found ? (*found)->getJobModifyIndex()
                            : snapshot.index(Table::job_submissions);
            },
        .answer =
            [find](const View& snapshot) {
              const auto found = find(snapshot);
              if (!found) return Answer::error(found.error());
              return *found ? Answer::json(to_json(**found))
                            : Answer::error(not_found("job source not found"));
            }};
  });
}

}  // namespace

Result<Read> job_list(const ReadOptions& options,
                      bool with_meta,
                      std::function<bool(schema::Job::Reader)> wanted) {
  auto filter = NOMAD_TRY(compile_filter(options));
  const auto watched = options.all_namespaces() ? "" : state::join_key(options.ns, options.prefix);
  return Read{.watch = {state::watch_prefix(Table::jobs, watched),
                        state::watch_prefix(Table::job_summaries, watched)},
              .index = jobs_index,
              .list =
                  [options, with_meta, filter, wanted](const View& snapshot, EarlyBody* early) {
                    Summaries summaries{snapshot};
                    return list_page(
                        snapshot, &state::Snapshot::jobs_map, walk_by_name(options), options,
                        [&](const JobRef& job) -> Result<bool> {
                          if (!view(job->getId()).starts_with(options.prefix)) return false;
                          if (wanted && !wanted(*job)) return false;
                          return keeps_job(snapshot, filter, job, with_meta);
                        },
                        [](std::string_view, const JobRef& job) {
                          return query::NameToken::make(view(job->getNamespace()),
                                                        view(job->getId()));
                        },
                        [&](std::string& out, const JobRef& job) {
                          JsonPieces pieces{out};
                          add_job_stub(pieces, summaries, *job, with_meta);
                          pieces.finish();
                        },
                        early);
                  },
              .is_heavy = is_long<&state::Snapshot::jobs_map>,
              .cacheable = true};
}

void add_job_routes(Routes& routes, JobParts parts) {
  const auto with_logs = routes.with(JobLogsParts{.client = parts.client});
  const auto with_client = routes.with(parts.client);
  const auto with = routes.with(std::move(parts));
  const auto read = [](std::string_view suffix, Handler run) {
    return Suffix{suffix, {{Methods::get, Capability::read_job, run}}};
  };
  const auto write = [](std::string_view suffix, Capability capability, BoundHandler run) {
    return Suffix{suffix, {{Methods::write, capability, run}}};
  };
  const auto submit = [&with](auto run) {
    return Operation{.methods = Methods::write,
                     .capability = Capability::submit_job,
                     .run = with(run),
                     .region_of_body = region_of_job};
  };
  routes.exact("/v1/jobs",
               {{Methods::get, Capability::list_jobs, list_jobs}, submit(register_job)});
  routes.exact("/v1/jobs/statuses",
               {{Methods::get, Capability::read_job, job_statuses},
                {Methods::write, Capability::read_job, job_statuses, Where::state}});
  routes.exact("/v1/jobs/parse",
               {{Methods::write, Capability::parse_job, parse_job, Where::agent}});
  routes.exact("/v1/validate/job", {{Methods::write, Capability::read_job, with(validate_job)}});
  routes.below(
      "/v1/job/",
      {write("/evaluate", Capability::submit_job, evaluate_job),
       read("/allocations", job_allocations),
       read("/evaluations", job_evaluations),
       write("/periodic/force", Capability::dispatch_job, force_periodic),
       Suffix{"/plan", {submit(plan_job)}},
       read("/summary", job_summary),
       write("/dispatch", Capability::dispatch_job, with(dispatch_job)),
       read("/versions", job_versions),
       write("/revert", Capability::submit_job, with(revert_job)),
       read("/deployments", job_deployments),
       read("/deployment", job_deployment),
       write("/stable", Capability::submit_job, set_job_stability),
       {"/scale",
        {{Methods::get, Capability::read_job_scaling, job_scale_status},
         {Methods::write, Capability::scale_job, with(scale_job)}}},
       read("/services", job_services),
       read("/submission", job_submission),
       read("/actions", job_actions),
       read("/explain", explain_job),
       read("/capacity", job_capacity),
       {"/action", {{Methods::any, Capability::none, with_client(run_action), Where::agent}}},
       {"/tag",
        {{Methods::write, Capability::submit_job, tag_version},
         {Methods::remove, Capability::submit_job, untag_version}}},
       {"/logs", {{Methods::get, Capability::read_logs, with_logs(job_logs), Where::server}}},
       {"",
        {{Methods::get, Capability::read_job, read_job},
         submit(register_job),
         {Methods::remove, Capability::submit_job, deregister_job}}}});
}

}  // namespace nomad::api
