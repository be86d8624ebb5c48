// Actions on stored jobs: evaluate, revert, stable, scale, dispatch, periodic/force.
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/jobs/job_endpoint.hpp"
#include "runtime/base/base64.hpp"

namespace nomad::api {
namespace {

using server::server_api::JobRegistered;

/// Sends `request` if it could be made of the body; the answer is that of a registration.
template <class Request>
void ask_registered(Call call, Result<Request> request) {
  if (!request) {
    call.fail(request.error());
    return;
  }
  const auto server = call.context->options.server;
  ask<JobRegistered>(std::move(call), server, std::move(*request),
                     [](const JobRegistered& done) { return job_registered(done, ""); });
}

Result<server::server_api::EvaluateJob> make_evaluate(const Call& call) {
  server::server_api::EvaluateJob request;
  request.ns = write_namespace(call.request());
  request.job_id = call.rest;
  if (call.request().body.empty()) return request;
  const auto body = body_object(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "JobEvaluateRequest"};
  const auto id = fields.text("JobID");
  if (const auto* options = fields.object("EvalOptions")) {
    BodyFields inner{*options, "EvalOptions"};
    request.force_reschedule = inner.boolean("ForceReschedule");
    NOMAD_TRY(inner.check());
  }
  NOMAD_TRY(fields.check());
  if (id.empty()) return bad_request("Job ID must be specified");
  if (id != call.rest) return bad_request("JobID not same as job name");
  return request;
}

/// Checks that the body's JobID is the path's.
Result<> check_job_id(BodyFields& fields, const Call& call) {
  const auto id = fields.text("JobID");
  NOMAD_TRY(fields.check());
  if (id.empty()) return bad_request("JobID must be specified");
  if (id != call.rest) return bad_request("Job ID does not match");
  return {};
}

Result<server::server_api::RevertJob> make_revert(const Call& call) {
  const auto body = body_object(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "JobRevertRequest"};
  NOMAD_TRY(check_job_id(fields, call));
  server::server_api::RevertJob request;
  request.ns = write_namespace(call.request());
  request.job_id = call.rest;
  request.version = fields.unsigned_integer("JobVersion");
  request.enforce_prior_version = fields.maybe_unsigned("EnforcePriorVersion");
  NOMAD_TRY(fields.check());
  return request;
}

Result<server::server_api::SetJobStability> make_stability(const Call& call) {
  const auto body = body_object(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "JobStabilityRequest"};
  NOMAD_TRY(check_job_id(fields, call));
  server::server_api::SetJobStability request;
  request.ns = write_namespace(call.request());
  request.job_id = call.rest;
  request.version = fields.unsigned_integer("JobVersion");
  request.stable = fields.boolean("Stable");
  NOMAD_TRY(fields.check());
  return request;
}

Result<server::server_api::ScaleJob> make_scale(const Call& call) {
  const auto body = body_object(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "ScalingRequest"};
  server::server_api::ScaleJob request;
  request.ns = write_namespace(call.request());
  request.job_id = call.rest;
  if (const auto* target = fields.object("Target")) {
    BodyFields inner{*target, "Target"};
    request.group = inner.text("Group");
    const auto job = inner.text("Job");
    NOMAD_TRY(inner.check());
    if (!job.empty() && job != call.rest) return bad_request("job ID in payload did not match URL");
  }
  const bool has_count = fields.find("Count") != nullptr;
  request.count = fields.integer("Count");
  NOMAD_TRY(fields.check());
  if (request.group.empty()) return bad_request("missing task group name for scaling action");
  if (!has_count) return bad_request("missing count for scaling action");
  if (request.count < 0) return bad_request("scaling action count can't be negative");
  return request;
}

Result<server::server_api::DispatchJob> make_dispatch(const Call& call) {
  const auto body = body_object(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "JobDispatchRequest"};
  const auto id = fields.text("JobID");
  auto payload = decode_base64(fields.text("Payload"));
  server::server_api::DispatchJob request;
  request.ns = write_namespace(call.request());
  request.job_id = call.rest;
  request.idempotency_token = call.request().parameter_or_empty("idempotency_token");
  request.id_prefix = fields.text("IdPrefixTemplate");
  const auto* meta = fields.object("Meta");
  NOMAD_TRY(fields.check());
  if (!id.empty() && id != call.rest) return bad_request("Job ID does not match");
  if (!payload) return payload.error();
  request.payload = std::move(*payload);
  if (meta != nullptr) {
    BodyFields values{*meta, "JobDispatchRequest.Meta"};
    for (const auto& member : *meta) {
      const std::string key{member.key().data(), member.key().size()};
      request.meta.emplace_back(key, values.text(key));
    }
    NOMAD_TRY(values.check());
  }
  return request;
}

}  // namespace

void evaluate_job(Call call) {
  auto request = make_evaluate(call);
  ask_registered(std::move(call), std::move(request));
}

void revert_job(Call call) {
  auto request = make_revert(call);
  ask_registered(std::move(call), std::move(request));
}

void scale_job(Call call) {
  auto request = make_scale(call);
  ask_registered(std::move(call), std::move(request));
}

void set_job_stability(Call call) {
  auto request = make_stability(call);
  if (!request) {
    call.fail(request.error());
    return;
  }
  const auto server = call.context->options.server;
  ask<server::server_api::Written>(std::move(call), server, std::move(*request),
                                   [](const server::server_api::Written& done) {
                                     std::string out;
                                     JsonObject{out}.number("Index", done.index);
                                     return Answer::json(std::move(out)).with_index(done.index);
                                   });
}

void dispatch_job(Call call) {
  auto request = make_dispatch(call);
  if (!request) {
    call.fail(request.error());
    return;
  }
  const auto server = call.context->options.server;
  ask<server::server_api::JobDispatched>(
      std::move(call), server, std::move(*request),
      [](const server::server_api::JobDispatched& done) {
        std::string out;
        JsonObject{out}
            .text("DispatchedJobID", done.dispatched_job_id)
            .number("EvalCreateIndex", done.eval_create_index)
            .text("EvalID", done.eval_id)
            .number("Index", done.index)
            .number("JobCreateIndex", done.job_create_index);
        return Answer::json(std::move(out)).with_index(done.index);
      });
}

void force_periodic(Call call) {
  const auto server = call.context->options.server;
  server::server_api::ForcePeriodic request{write_namespace(call.request()), call.rest};
  ask<server::server_api::EvalCreated>(std::move(call), server, std::move(request),
                                       [](const server::server_api::EvalCreated& done) {
                                         std::string out;
                                         JsonObject{out}
                                             .number("EvalCreateIndex", done.index)
                                             .text("EvalID", done.eval_id)
                                             .number("Index", done.index);
                                         return Answer::json(std::move(out)).with_index(done.index);
                                       });
}

}  // namespace nomad::api
