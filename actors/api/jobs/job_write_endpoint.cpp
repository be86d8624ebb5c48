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

namespace nomad::api {
namespace {

namespace json = boost::json;
using cluster::Decision;
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
  request.preserve_resources = fields.boolean("PreserveResources");
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
