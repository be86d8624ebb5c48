// Jobs that come in: registration, plan, validation, parsing, and their end.
#include <charconv>

#include <boost/json.hpp>

#include "actors/api/allocs/alloc_json.hpp"
#include "actors/api/forward/dispatch.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/write.hpp"
#include "actors/api/jobs/admission_cache.hpp"
#include "actors/api/jobs/incoming_job.hpp"
#include "actors/api/jobs/job_endpoint.hpp"
#include "actors/api/jobs/job_source.hpp"
#include "actors/roles/job_types.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/access/verdicts.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/admission/admission.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "runtime/hcl/functions/functions.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/cron/cron.hpp"
#include "runtime/jobspec/diff/diff.hpp"
#include "runtime/jobspec/parse/parse_job.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/scheduler/dry_run.hpp"

namespace nomad::api {
namespace {

namespace json = boost::json;
using cluster::Decision;
using scheduler::DryRun;
using server::Written;
using state::Snapshot;

/// Larger bodies are worked off on the query pool, so that no connection waits behind them.
constexpr std::size_t large_body = 64 * 1024;

std::uint64_t eval_index(const Written<Decision>& done) {
  return done.decision.eval_id.empty() || !done.outcome ? 0 : done.index;
}

/// Nomad refuses this before it looks at anything else of the job.
bool scales_system_job(const jobspec::DraftBlock& job) {
  if (job.text("Type") != "system") return false;
  for (const jobspec::DraftBlock group : job.list("TaskGroups"))
    if (group.has("Scaling")) return true;
  return false;
}

using JobHandler = Outcome (*)(Call& call, const JobParts& parts);

/// Goes on with a job that is of another region than the request.
Outcome pass_on(Call& call, const std::string& region, const JobParts& parts, JobHandler handler) {
  dispatch_to_region(std::move(call), region,
                     [&parts, handler](Call here) { here.settle(handler(here, parts)); });
  return later;
}

/// Registers the job, keeps its source, and answers when both are written.
Outcome write_registration(Call& call,
                           const cluster::RegisterRequest& request,
                           const std::shared_ptr<const jobspec::JobDraft>& draft,
                           JobSource source,
                           const JobGrowth& growth,
                           std::vector<std::string> warnings) {
  const auto& writer = call.context->state.writer;
  if (!writer) return no_leader();
  const auto decide
      = [request, draft, asking = call.asking](const Snapshot& state,
                                               const cluster::EvalSeed& seed) -> Result<Decision> {
    if (const auto errors = state_errors(state, draft->job()); !errors.empty())
      return Error{Errc::rejected, jobspec::join_errors(errors)};
    return cluster::decide_register(state, asking, request, seed);
  };
  const auto shared = share(std::move(call));
  // The source is kept also when nobody waits for the answer any more.
  auto answer = [shared, source = std::move(source), warnings = std::move(warnings),
                 growth](Result<Written<Decision>> result) {
    const auto turns = shared->turns();
    if (!result) return turns.post([shared, error = result.error()] { shared->fail(error); });
    shared->context->namespaces.add(growth);
    const auto done = std::make_shared<const Written<Decision>>(std::move(*result));
    keep_source(*shared->context->state.writer, *done, source, growth.ns, turns,
                [shared, done, warnings](const std::string& warning) mutable {
                  const auto& more = done->decision.warnings;
                  warnings.insert(warnings.end(), more.begin(), more.end());
                  if (!warning.empty()) warnings.push_back(warning);
                  shared->send(job_registered(*done, jobspec::join_warnings(warnings)));
                });
  };
  writer->write(decide, Turns::here(), std::move(answer), deciding_anew(shared->context));
  return later;
}

Outcome register_here(Call& call, const JobParts& parts) {
  auto incoming = NOMAD_TRY(take_job(
      call, parts, call.rest,
      {"JobRegisterRequest", "Job ID hasn't been provided", "Job ID does not match name"}));
  if (!incoming.other_region.empty())
    return pass_on(call, incoming.other_region, parts, register_job);
  BodyFields fields{incoming.body, "JobRegisterRequest"};
  cluster::RegisterRequest request;
  request.enforce_index = fields.boolean("EnforceIndex");
  request.job_modify_index = fields.unsigned_integer("JobModifyIndex");
  request.preserve_counts = fields.boolean("PreserveCounts");
  request.eval_priority = fields.integer("EvalPriority");
  request.policy_override = fields.boolean("PolicyOverride");
  request.read_admission = reading(parts.admission);
  NOMAD_TRY(fields.check());
  if (scales_system_job(incoming.draft.job()))
    return bad_request("Task groups with job type system do not support scaling blocks");
  if (request.eval_priority != 0 && (request.eval_priority < 1 || request.eval_priority > 100))
    return bad_request("Eval priority must be between 1 and 100 inclusively");
  if (!incoming.validation.ok()) return Error{Errc::rejected, incoming.validation.error_text()};
  auto source = NOMAD_TRY(take_source(fields, parts.limits.max_source_bytes));
  request.job = freeze_job(incoming.draft, call.asking.who);
  const auto source_bytes = source.submission ? source.submission.size_in_bytes() : 0;
  const auto growth = NOMAD_TRY(call.context->room_for(view(request.job->getNamespace()),
                                                       view(request.job->getId()),
                                                       request.job.size_in_bytes() + source_bytes));
  const auto draft = std::make_shared<const jobspec::JobDraft>(std::move(incoming.draft));
  return write_registration(call, request, draft, std::move(source), growth,
                            std::move(incoming.validation.warnings));
}

// --- plan ----------------------------------------------------------------------------------------

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

/// Which nodes the groups' new allocations come to.
void append_placements(JsonObject& object, const DryRun& planned) {
  if (planned.placed.empty()) {
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
  append_placements(object, planned);
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

Outcome plan_here(Call& call, const JobParts& parts) {
  auto incoming = NOMAD_TRY(
      take_job(call, parts, call.rest,
               {"JobPlanRequest", "Job must have a valid ID", "Job ID does not match"}));
  if (!incoming.other_region.empty()) return pass_on(call, incoming.other_region, parts, plan_job);
  BodyFields fields{incoming.body, "JobPlanRequest"};
  const bool with_diff = fields.boolean("Diff");
  const bool overrides = fields.boolean("PolicyOverride");
  NOMAD_TRY(fields.check());
  if (!incoming.validation.ok()) return Error{Errc::rejected, incoming.validation.error_text()};
  const auto tree = jobspec::tree_of(incoming.draft.job(), jobspec::block_types().job);
  const auto job = freeze_job(incoming.draft, call.asking.who);
  const auto& store = call.context->state.store;
  if (!store) return no_leader();
  const auto state = store->snapshot();
  auto warnings = NOMAD_TRY(cluster::judge_submission(
      state, call.asking.who, *job, {.overrides = overrides, .read = reading(parts.admission)}));
  warnings.insert(warnings.begin(), incoming.validation.warnings.begin(),
                  incoming.validation.warnings.end());
  const auto stored = state.job(view(job->getNamespace()), view(job->getId()));
  const bool is_changed = !stored || !cluster::same_specification(*stored, *job);
  auto run = NOMAD_TRY(scheduler::DryRunUnderWay::begin(
      state, job, is_changed, unix_now(), Random::from_system().next(), call.context->region));
  return show_plan(call, parts,
                   {.type = copy(job->getType()),
                    .run = std::move(run),
                    .index = state.index(),
                    .job = tree,
                    .with_diff = with_diff,
                    .warnings = std::move(warnings)});
}

// --- parse and validate --------------------------------------------------------------------------

Result<json::object> parse_source(const Call& call) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "JobsParseRequest"};
  auto source = fields.text("JobHCL");
  jobspec::ParseOptions options;
  options.var_content = fields.text("Variables");
  options.hcl1 = fields.boolean("HCLv1");
  const bool wants_defaults = fields.boolean("Canonicalize");
  NOMAD_TRY(fields.check());
  if (source.empty()) return bad_request("Job spec is empty");
  const auto functions = hcl::job_functions(
      {.files = nullptr, .random = [context = call.context](std::array<std::uint8_t, 16>& bytes) {
         for (auto& byte : bytes)
           byte = static_cast<std::uint8_t>(context->random_below(256));
       }});
  options.functions = &functions;
  auto parsed = jobspec::parse_job("input.hcl", std::move(source), options);
  if (!parsed.ok()) return bad_request("Failed to parse job: " + parsed.error);
  if (!wants_defaults) return std::move(parsed.job);
  auto canonical = NOMAD_TRY(jobspec::canonical_tree(parsed.job).within("Failed to parse job"));
  jobspec::complete(canonical);
  return canonical;
}

Outcome parse_here(Call& call) {
  NOMAD_TRY(authorize(call.asking, {write_namespace(call.request())}));
  const auto job = NOMAD_TRY(parse_source(call));
  return Answer::json(json::serialize(job));
}

Outcome validate_here(Call& call, const JobParts& parts) {
  const auto incoming = NOMAD_TRY(take_job(call, parts, "", {"JobValidateRequest", "", "", true}));
  if (!incoming.other_region.empty())
    return pass_on(call, incoming.other_region, parts, validate_job);
  const auto& validation = incoming.validation;
  JsonObject object;
  object.boolean("DriverConfigValidated", true).text("Error", validation.error_text());
  if (validation.errors.empty())
    object.null("ValidationErrors");
  else
    append_json_texts(object.raw("ValidationErrors"), validation.errors);
  object.text("Warnings", validation.warning_text());
  return Answer::json(object.take());
}

/// Runs `work` here, or on the pool if the body is large.
Outcome by_size(Call& call, const JobParts& parts, JobHandler work) {
  if (call.request().body.size() <= large_body) return work(call, parts);
  return on_pool(call, [&parts, work](Call& here) { return work(here, parts); });
}

}  // namespace

Outcome register_job(Call& call, const JobParts& parts) {
  return by_size(call, parts, register_here);
}

Outcome plan_job(Call& call, const JobParts& parts) {
  return on_pool(call, [&parts](Call& here) { return plan_here(here, parts); });
}

Outcome parse_job(Call& call) {
  return on_pool(call, parse_here);
}

Outcome validate_job(Call& call, const JobParts& parts) {
  return by_size(call, parts, validate_here);
}

namespace {

struct Deregistration {
  std::string ns;
  std::string job_id;
  bool purge = false;
  bool no_shutdown_delay = false;
  std::int64_t eval_priority = 0;
};

Result<Deregistration> read_deregistration(const Call& call) {
  Deregistration asked;
  asked.ns = write_namespace(call.request());
  asked.job_id = call.rest;
  const auto purge = bool_parameter(call.request(), "purge");
  const auto global = bool_parameter(call.request(), "global");
  const auto no_delay = bool_parameter(call.request(), "no_shutdown_delay");
  for (const auto* parsed : {&purge, &global, &no_delay})
    if (!*parsed) return parsed->error();
  asked.purge = *purge;
  asked.no_shutdown_delay = *no_delay;
  const auto priority = call.request().parameter_or_empty("eval_priority");
  if (priority.empty()) return asked;
  const auto* end = priority.data() + priority.size();
  const auto [stopped, failure] = std::from_chars(priority.data(), end, asked.eval_priority);
  if (failure != std::errc{} || stopped != end)
    return Error{Errc::rejected, "failed to parse value of \"eval_priority\" ("
                                     + std::string{priority} + ") as an int"};
  if (asked.eval_priority > 100)
    return bad_request("Eval priority must be between 1 and 100 inclusively");
  asked.eval_priority = std::max<std::int64_t>(asked.eval_priority, 0);
  return asked;
}

/// Proposed ahead of what stops the allocations: the log keeps the order.
Result<> skip_delays(const server::Writer& writer,
                     const Snapshot& state,
                     const access::Asking& asking,
                     const Deregistration& asked) {
  const auto skip = NOMAD_TRY(cluster::decide_skip_delays(state, asking, asked.ns, asked.job_id));
  if (!skip.command) return {};
  writer.propose(skip.allowed, skip.command, Turns::here(),
                 [ns = asked.ns, job_id = asked.job_id](const Result<server::Committed>& done) {
                   if (!done)
                     log::warn("job", "the shutdown delays of a job are not passed over",
                               {{"namespace", ns}, {"job", job_id}, {"error", done.error()}});
                 });
  return {};
}

Answer job_deregistered(const Written<Decision>& done) {
  JsonObject object;
  object.number("EvalCreateIndex", eval_index(done)).text("EvalID", done.decision.eval_id);
  append_query_meta(object, done.index, false);
  object.number("JobModifyIndex", server::job_modify_index(done))
      .text("VolumeEvalID", "")
      .number("VolumeEvalIndex", 0);
  return Answer::json(object.take()).with_index(done.index);
}

}  // namespace

Outcome deregister_job(Call& call) {
  const auto asked = NOMAD_TRY(read_deregistration(call));
  const auto context = call.context;
  return write(
      call,
      [asked, context](const Snapshot& state, const access::Asking& asking,
                       const cluster::EvalSeed& seed) -> Result<Decision> {
        if (asked.no_shutdown_delay)
          NOMAD_TRY(skip_delays(*context->state.writer, state, asking, asked));
        return cluster::decide_deregister(state, asking, asked.ns, asked.job_id, asked.purge,
                                          asked.eval_priority, seed);
      },
      job_deregistered);
}

Answer job_registered(const Written<Decision>& done, std::string_view warnings) {
  JsonObject object;
  object.number("EvalCreateIndex", eval_index(done)).text("EvalID", done.decision.eval_id);
  append_query_meta(object, done.index, false);
  object.number("JobModifyIndex", server::job_modify_index(done)).text("Warnings", warnings);
  return Answer::json(object.take()).with_index(done.index);
}

}  // namespace nomad::api
