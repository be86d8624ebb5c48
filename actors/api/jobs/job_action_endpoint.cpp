// Actions on stored jobs: evaluate, revert, stable, scale, dispatch, periodic/force.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/write.hpp"
#include "actors/api/jobs/admission_cache.hpp"
#include "actors/api/jobs/job_endpoint.hpp"
#include "runtime/base/base64.hpp"
#include "runtime/cluster/scale_commands.hpp"
#include "runtime/jobspec/validate/validate.hpp"

namespace nomad::api {
namespace {

using cluster::Decision;
using cluster::EvalSeed;
using server::Written;
using state::Snapshot;

struct JobName {
  std::string ns;
  std::string id;
};

JobName name_of(const Call& call) {
  return {write_namespace(call.request()), call.rest};
}

/// The answer of a registration.
Answer evaluated(const Written<Decision>& done) {
  return job_registered(done, jobspec::join_warnings(done.decision.warnings));
}

/// Checks that the body's JobID is the path's.
Result<> check_job_id(BodyFields& fields, const Call& call) {
  const auto id = fields.text("JobID");
  NOMAD_TRY(fields.check());
  if (id.empty()) return bad_request("JobID must be specified");
  if (id != call.rest) return bad_request("Job ID does not match");
  return {};
}

/// Of what a dispatch puts into the id of the job, or into a key beside it.
constexpr std::size_t most_id_part_bytes = 1024;

/// Whether failed allocations are to be placed anew whatever their policy.
Result<bool> read_evaluate(const Call& call) {
  if (call.request().body.empty() && !is_chunked(call.request())) return false;
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "JobEvaluateRequest"};
  const auto id = fields.text("JobID");
  bool force = false;
  if (const auto* options = fields.object("EvalOptions")) {
    BodyFields inner{*options, "EvalOptions"};
    force = inner.boolean("ForceReschedule");
    NOMAD_TRY(inner.check());
  }
  NOMAD_TRY(fields.check());
  if (id.empty()) return bad_request("Job ID must be specified");
  if (id != call.rest) return bad_request("JobID not same as job name");
  return force;
}

Result<cluster::DispatchRequest> read_dispatch(const Call& call, std::int64_t max_priority) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "JobDispatchRequest"};
  const auto id = fields.text("JobID");
  auto payload = decode_base64(fields.text("Payload"));
  cluster::DispatchRequest request;
  request.ns = write_namespace(call.request());
  request.job_id = call.rest;
  request.idempotency_token = call.request().parameter_or_empty("idempotency_token");
  request.id_prefix = fields.text("IdPrefixTemplate");
  request.priority = fields.integer("Priority");
  const auto* meta = fields.object("Meta");
  NOMAD_TRY(fields.check());
  if (!id.empty() && id != call.rest) return bad_request("Job ID does not match");
  if (request.priority < 0 || request.priority > max_priority)
    return bad_request(
        fmt::format("job priority must be between [{}, {}]", jobspec::min_priority, max_priority));
  if (!payload) return payload.error();
  request.payload = std::move(*payload);
  if (meta != nullptr) {
    BodyFields values{*meta, "JobDispatchRequest.Meta"};
    request.meta = values.texts();
    NOMAD_TRY(values.check());
  }
  NOMAD_TRY(call.context->bounds.check_meta(request.meta));
  for (const auto& [field, text] : {std::pair{"IdPrefixTemplate", &request.id_prefix},
                                    std::pair{"idempotency_token", &request.idempotency_token}}) {
    NOMAD_TRY(jobspec::Bounds::check_null(field, *text));
    if (text->size() > most_id_part_bytes)
      return bad_request(fmt::format("{} has more than {} bytes", field, most_id_part_bytes));
  }
  return request;
}

Result<cluster::ScaleRequest> read_scale(const Call& call) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "ScalingRequest"};
  cluster::ScaleRequest request;
  request.ns = write_namespace(call.request());
  request.job_id = call.rest;
  if (const auto* target = fields.object("Target")) {
    BodyFields inner{*target, "Target"};
    request.group = inner.text("Group");
    const auto ns = inner.text("Namespace");
    const auto job = inner.text("Job");
    NOMAD_TRY(inner.check());
    if (!ns.empty() && ns != request.ns)
      return bad_request("namespace in payload did not match header");
    if (!job.empty() && job != call.rest) return bad_request("job ID in payload did not match URL");
  }
  if (fields.find("Count") != nullptr) request.count = fields.integer("Count");
  request.message = fields.text("Message");
  request.error = fields.boolean("Error");
  if (const auto* meta = fields.object("Meta")) append_sorted_json(request.meta, *meta);
  NOMAD_TRY(fields.check());
  NOMAD_TRY(call.context->bounds.check_text("Message", request.message.size()));
  NOMAD_TRY(call.context->bounds.check_text("Meta", request.meta.size()));
  return request;
}

Object<schema::Job> stored_job(const Call& call, const std::string& ns, const std::string& id) {
  const auto& store = call.context->state.store;
  return store ? store->snapshot().job(ns, id) : Object<schema::Job>{};
}

/// For one more version of the job that the path names, which is about as large as the last one.
/// Who may not change it is not told how full its namespace is.
Result<JobGrowth> room_for_version(const Call& call, const std::string& ns) {
  NOMAD_TRY(authorize(call.asking, {ns}));
  const auto job = stored_job(call, ns, call.rest);
  return call.context->room_for(ns, call.rest, job ? job.size_in_bytes() : 0);
}

/// Counts what was written.
auto counting(const Call& call, JobGrowth growth) {
  return [context = call.context, growth = std::move(growth)](const Written<Decision>&) {
    context->namespaces.add(growth);
  };
}

Answer job_dispatched(const Written<Decision>& done) {
  const bool is_new = done.outcome != nullptr;
  JsonObject object;
  object.text("DispatchedJobID", done.decision.job_id)
      .number("EvalCreateIndex", is_new ? done.index : 0)
      .text("EvalID", done.decision.eval_id)
      .number("Index", done.index)
      .number("JobCreateIndex", is_new ? done.index : done.decision.job_modify_index);
  return Answer::json(object.take()).with_index(done.index);
}

}  // namespace

Outcome evaluate_job(Call& call) {
  const bool force = NOMAD_TRY(read_evaluate(call));
  return write(
      call,
      [force, job = name_of(call)](const Snapshot& state, const access::Asking& asking,
                                   const EvalSeed& seed) {
        return cluster::decide_evaluate(state, asking, job.ns, job.id, force, seed);
      },
      evaluated);
}

Outcome revert_job(Call& call, const JobParts& parts) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "JobRevertRequest"};
  NOMAD_TRY(check_job_id(fields, call));
  const auto version = fields.unsigned_integer("JobVersion");
  const auto enforce_prior = fields.maybe_unsigned("EnforcePriorVersion");
  NOMAD_TRY(fields.check());
  const auto growth = NOMAD_TRY(room_for_version(call, write_namespace(call.request())));
  return write_and(
      call,
      [=, job = name_of(call), max_count = parts.limits.max_count, read = reading(parts.admission)](
          const Snapshot& state, const access::Asking& asking, const EvalSeed& seed) {
        return cluster::decide_revert(state, asking, job.ns, job.id, version, enforce_prior,
                                      max_count, seed, read);
      },
      counting(call, growth), evaluated);
}

Outcome scale_job(Call& call, const JobParts& parts) {
  const auto request = NOMAD_TRY(read_scale(call));
  const auto growth = NOMAD_TRY(room_for_version(call, request.ns));
  return write_and(
      call,
      [request, max_count = parts.limits.max_count](
          const Snapshot& state, const access::Asking& asking, const EvalSeed& seed) {
        return cluster::decide_scale(state, asking, request, max_count, seed);
      },
      counting(call, growth), evaluated);
}

Outcome set_job_stability(Call& call) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "JobStabilityRequest"};
  NOMAD_TRY(check_job_id(fields, call));
  const auto version = fields.unsigned_integer("JobVersion");
  const bool stable = fields.boolean("Stable");
  NOMAD_TRY(fields.check());
  return write(
      call,
      [=, job = name_of(call)](const Snapshot& state, const access::Asking& asking,
                               const EvalSeed&) {
        return cluster::decide_stability(state, asking, job.ns, job.id, version, stable);
      },
      index_answer<Decision>);
}

Outcome dispatch_job(Call& call, const JobParts& parts) {
  const auto request = NOMAD_TRY(read_dispatch(call, parts.limits.max_priority));
  NOMAD_TRY(authorize(call.asking, {request.ns}));
  const auto parent = stored_job(call, request.ns, request.job_id);
  const auto growth = NOMAD_TRY(call.context->room_for(
      request.ns, "", parent ? parent.size_in_bytes() + request.payload.size() : 0));
  return write_and(
      call,
      [request](const Snapshot& state, const access::Asking& asking, const EvalSeed& seed) {
        return cluster::decide_dispatch(state, asking, request, seed);
      },
      counting(call, growth), job_dispatched);
}

Outcome force_periodic(Call& call) {
  // Who may submit jobs may launch them, too, but not dispatch them.
  if (!authorize(call.asking, {write_namespace(call.request())}))
    call.asking.needed = Capability::submit_job;
  return write(
      call,
      [job = name_of(call)](const Snapshot& state, const access::Asking& asking,
                            const EvalSeed& seed) {
        return cluster::decide_periodic_launch(state, asking, job.ns, job.id, seed);
      },
      [](const Written<Decision>& done) {
        JsonObject object;
        object.number("EvalCreateIndex", done.index)
            .text("EvalID", done.decision.eval_id)
            .number("Index", done.index);
        return Answer::json(object.take()).with_index(done.index);
      });
}

}  // namespace nomad::api
