// Plans: what registering a job would change, also under circumstances that are supposed.
#include <boost/json.hpp>

#include "actors/api/allocs/alloc_json.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/write.hpp"
#include "actors/api/jobs/admission_cache.hpp"
#include "actors/api/jobs/incoming_job.hpp"
#include "actors/api/jobs/job_endpoint.hpp"
#include "actors/roles/job_types.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/access/verdicts.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/cluster/admission/admission.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "runtime/cluster/job_rights.hpp"
#include "runtime/jobspec/cron/cron.hpp"
#include "runtime/jobspec/diff/diff.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/scheduler/dry_run.hpp"

namespace nomad::api {
namespace {

namespace json = boost::json;
using scheduler::Circumstance;
using scheduler::DryRun;

void append_updates(std::string& out, const DryRun& planned) {
  JsonObject groups{out};
  for (const auto& [group, updates] : planned.desired_updates) {
    JsonObject object{groups.member(group)};
    object.number("Canary", updates.canary)
        .number("DestructiveUpdate", updates.destructive_update)
        .number("Ignore", updates.ignore)
        .number("InPlaceUpdate", updates.in_place_update)
        .number("Migrate", updates.migrate)
        .number("Place", updates.place)
        .number("Preemptions", updates.preemptions)
        .number("Stop", updates.stop);
  }
}

/// Those that the caller may read; the others are counted.
std::size_t append_preempted(JsonObject& object,
                             const DryRun& planned,
                             access::Verdicts& verdicts) {
  std::vector<state::AllocRef> shown;
  for (const auto& row : planned.preempted)
    if (verdicts.judge(Capability::read_job, AllocView{*row->alloc}.ns())) shown.push_back(row);
  if (shown.empty())
    object.null("PreemptedAllocs");
  else
    append_json_list(
        object.raw("PreemptedAllocs"), shown,
        [](std::string& to, const state::AllocRef& row) { append_alloc_stub(to, *row); });
  return planned.preempted.size() - shown.size();
}

std::string warning_of_hidden(std::size_t preempted) {
  return fmt::format("{} {} of namespaces that this token may not read would be preempted, too",
                     preempted, preempted == 1 ? "allocation" : "allocations");
}

/// What is to be known of the other jobs that circumstances concern.
void append_warnings(std::vector<std::string>& to, const scheduler::OtherJobs& others) {
  const auto jobs = [](std::size_t count) {
    return fmt::format("{} other {}", count, count == 1 ? "job" : "jobs");
  };
  if (others.without_room != 0)
    to.push_back(fmt::format("{} would not find room for all allocations under these circumstances",
                             jobs(others.without_room)));
  if (others.left_out != 0)
    to.push_back(fmt::format(
        "{} that the circumstances concern {} left out of the plan: they are "
        "scheduled by a plugin, or are more than {} or want more than {} allocations together",
        jobs(others.left_out), others.left_out == 1 ? "was" : "were", scheduler::most_other_jobs,
        scheduler::most_other_allocs));
}

/// Which nodes the groups' new allocations come to; to who may read the job.
void append_placements(JsonObject& object, const DryRun& planned, bool may_read) {
  if (planned.placed.empty() || !may_read) {
    object.null("Placements");
    return;
  }
  JsonObject groups{object.raw("Placements")};
  for (const auto& [group, nodes] : planned.placed)
    append_json_list(groups.member(group), nodes, [](std::string& to, const auto& node) {
      JsonObject{to}
          .text("NodeID", node.first)
          .text("NodeName", node.second.node_name)
          .number("Count", node.second.count);
    });
}

/// What `job` changes of the stored one, as JSON text.
Result<std::string> diff_of(const DryRun& planned, const json::object& job) {
  json::value stored;
  if (planned.stored) stored = NOMAD_TRY(parse_json(to_json(*planned.stored)));
  auto changes = jobspec::diff(stored.if_object(), &job, true);
  if (!changes) return std::string{"null"};
  std::map<std::string, jobspec::DesiredUpdates, std::less<>> updates;
  for (const auto& [group, counts] : planned.desired_updates)
    updates.emplace(group, jobspec::DesiredUpdates{counts.ignore, counts.place, counts.migrate,
                                                   counts.stop, counts.in_place_update,
                                                   counts.destructive_update, counts.canary});
  jobspec::annotate(*changes, updates);
  return json::serialize(*changes);
}

void append_next_launch(JsonObject& object, const json::object& job) {
  const auto* periodic = job.if_contains("Periodic");
  std::optional<jobspec::UnixSeconds> next;
  if (periodic != nullptr && periodic->is_object())
    if (const auto found = jobspec::next_launch(periodic->get_object(), unix_now() / 1'000'000'000))
      next = *found;
  if (next)
    object.text("NextPeriodicLaunch", format_rfc3339(*next * 1'000'000'000));
  else
    object.null("NextPeriodicLaunch");
}

Outcome plan_answer(const access::Principal& who,
                    const DryRun& planned,
                    std::uint64_t index,
                    const json::object& job,
                    bool with_diff,
                    std::vector<std::string> warnings) {
  std::string diff = "null";
  if (planned.others) append_warnings(warnings, *planned.others);
  if (with_diff) diff = NOMAD_TRY(diff_of(planned, job));
  access::Verdicts verdicts{who};
  JsonObject object;
  {
    JsonObject annotations{object.raw("Annotations")};
    append_updates(annotations.raw("DesiredTGUpdates"), planned);
    if (const auto hidden = append_preempted(annotations, planned, verdicts); hidden != 0)
      warnings.push_back(warning_of_hidden(hidden));
  }
  if (planned.created_evals.empty())
    object.null("CreatedEvals");
  else
    append_json_list(object.raw("CreatedEvals"), planned.created_evals,
                     [](std::string& to, const auto& eval) { append_json(to, eval); });
  object.raw("Diff") += diff;
  if (planned.failed_groups.empty()) {
    object.null("FailedTGAllocs");
  } else {
    JsonObject failed{object.raw("FailedTGAllocs")};
    for (const auto& [group, metric] : planned.failed_groups)
      append_json(failed.member(group), metric);
  }
  object.number("Index", index).number("JobModifyIndex", planned.job_modify_index);
  append_next_launch(object, job);
  append_placements(
      object, planned,
      verdicts.judge(Capability::read_job, job.at("Namespace").as_string()).has_value());
  object.text("Warnings", jobspec::join_warnings(warnings));
  return Answer::json(object.take()).with_index(index);
}

/// A plan on its way to its answer.
struct PlanUnderWay {
  std::string type;
  scheduler::DryRunUnderWay run;
  std::uint64_t index = 0;
  json::object job;
  bool with_diff = false;
  std::vector<std::string> warnings;
  std::shared_ptr<void> slot{};  ///< Among those that wait for plugins.
};

/// So long a plan waits for a plugin, and so many at a time.
constexpr std::chrono::seconds decision_timeout{30};
constexpr int most_asked_plans = 16;

/// Holds a place among the plans that wait, while it is kept; null: too many do.
std::shared_ptr<void> take_slot(const std::shared_ptr<Context>& context) {
  if (context->asked_plans.fetch_add(1) < most_asked_plans)
    return {context.get(), [context](void*) { context->asked_plans.fetch_sub(1); }};
  context->asked_plans.fetch_sub(1);
  return {};
}

Error undecided(const PlanUnderWay& plan, const std::string& plugin, const Error& why) {
  if (why.code == Errc::timeout)
    return {Errc::timeout, fmt::format("plugin {}, which schedules jobs of type \"{}\", has not "
                                       "decided within {} s",
                                       plugin, plan.type, decision_timeout.count())};
  return why.within(
      fmt::format("plugin {}, which schedules jobs of type \"{}\"", plugin, plan.type));
}

/// Answers, or has the plugin asked that schedules the job. No thread waits for it.
Outcome show_plan(Call& call, const JobParts& parts, PlanUnderWay plan) {
  const auto* const question = plan.run.question();
  if (question == nullptr)
    return plan_answer(call.asking.who, std::move(plan.run).take(), plan.index, plan.job,
                       plan.with_diff, std::move(plan.warnings));
  const auto context = call.context;
  const auto known = parts.types ? parts.types->find(plan.type) : std::nullopt;
  if (!known)
    return Error{Errc::unavailable,
                 fmt::format("no plugin of this server schedules jobs of type \"{}\"", plan.type)};
  if (!plan.slot) plan.slot = take_slot(context);
  if (!plan.slot)
    return Error{Errc::overloaded,
                 fmt::format("{} plans wait for plugins already", most_asked_plans)};
  const server::decider::Decide order{question->make(known->reads)};
  const auto kept = std::make_shared<PlanUnderWay>(std::move(plan));
  context->asker.ask<server::decider::Decided>(
      known->decider, order, decision_timeout,
      [shared = share(std::move(call)), &parts, kept,
       plugin = known->plugin](Result<server::decider::Decided> decided) {
        if (!decided) return shared->fail(undecided(*kept, plugin, decided.error()));
        run_on(shared->context->pool, shared,
               [&parts, kept, plugin, decision = decided->decision](Call& again) -> Outcome {
                 if (const auto taken = kept->run.answer(decision); !taken)
                   return undecided(*kept, plugin, taken.error());
                 return show_plan(again, parts, std::move(*kept));
               });
      });
  return later;
}

/// So many circumstances a plan may suppose.
constexpr std::size_t most_circumstances = 100;

constexpr std::string_view form_of_circumstances
    = "each of With must be one of {\"Drain\": \"<node id>\"}, {\"Remove\": \"<node id>\"} and "
      "{\"Add\": <count>, \"Like\": \"<node id>\"}";

Result<Circumstance> read_circumstance(const JsonNode& entry) {
  if (!entry.is(JsonKind::object)) return bad_request(std::string{form_of_circumstances});
  BodyFields fields{entry, "PlanCircumstance"};
  const auto drain = fields.text("Drain");
  const auto remove = fields.text("Remove");
  const auto like = fields.text("Like");
  const auto count = fields.unsigned_integer("Add");
  NOMAD_TRY(fields.check());
  if ((drain.empty() ? 0 : 1) + (remove.empty() ? 0 : 1) + (like.empty() ? 0 : 1) != 1
      || like.empty() != (fields.find("Add") == nullptr) || count > scheduler::most_added_nodes)
    return bad_request(std::string{form_of_circumstances});
  if (!drain.empty()) return Circumstance{Circumstance::Kind::drain, drain};
  if (!remove.empty()) return Circumstance{Circumstance::Kind::remove, remove};
  return Circumstance{Circumstance::Kind::add, like, static_cast<std::uint32_t>(count)};
}

/// Those of the request's member `With`. They tell of nodes: who supposes some must be allowed to
/// read nodes.
Result<std::vector<Circumstance>> take_circumstances(const Call& call, BodyFields& fields) {
  std::vector<Circumstance> out;
  const auto* list = fields.array("With");
  if (list == nullptr || list->size == 0) return out;
  NOMAD_TRY(access::authorize(call.asking.who, Capability::node_read, {}));
  if (list->size > most_circumstances)
    return bad_request(
        fmt::format("a plan may suppose {} circumstances, not {}", most_circumstances, list->size));
  for (const auto& entry : list->elements())
    out.push_back(NOMAD_TRY(read_circumstance(entry)));
  return out;
}

Outcome plan_here(Call& call, const JobParts& parts) {
  auto incoming = NOMAD_TRY(
      take_job(call, parts, call.rest,
               {"JobPlanRequest", "Job must have a valid ID", "Job ID does not match"}));
  if (!incoming.other_region.empty()) return pass_on(call, incoming.other_region, parts, plan_job);
  BodyFields fields{incoming.body, "JobPlanRequest"};
  const bool with_diff = fields.boolean("Diff");
  const bool overrides = fields.boolean("PolicyOverride");
  const auto circumstances = NOMAD_TRY(take_circumstances(call, fields));
  NOMAD_TRY(fields.check());
  if (!incoming.validation.ok()) return Error{Errc::rejected, incoming.validation.error_text()};
  const auto tree = jobspec::tree_of(incoming.draft.job(), jobspec::block_types().job);
  const auto job = freeze_job(incoming.draft, call.asking.who);
  NOMAD_TRY(cluster::authorize_pool(call.asking.who, *job));
  const auto& store = call.context->state.store;
  if (!store) return no_leader();
  const auto state = store->snapshot();
  auto warnings = NOMAD_TRY(cluster::judge_submission(
      state, call.asking.who, *job, {.overrides = overrides, .read = reading(parts.admission)}));
  warnings.insert(warnings.begin(), incoming.validation.warnings.begin(),
                  incoming.validation.warnings.end());
  const auto stored = state.job(view(job->getNamespace()), view(job->getId()));
  const bool is_changed = !stored || !cluster::same_specification(*stored, *job);
  auto run = NOMAD_TRY(scheduler::DryRunUnderWay::begin(state, job, is_changed, unix_now(),
                                                        Random::from_system().next(),
                                                        call.context->region, circumstances));
  return show_plan(call, parts,
                   {.type = copy(job->getType()),
                    .run = std::move(run),
                    .index = state.index(),
                    .job = tree,
                    .with_diff = with_diff,
                    .warnings = std::move(warnings)});
}

}  // namespace

Outcome plan_job(Call& call, const JobParts& parts) {
  return on_pool(call, [&parts](Call& here) { return plan_here(here, parts); });
}

}  // namespace nomad::api
