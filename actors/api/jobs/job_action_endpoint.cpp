// Actions on stored jobs: evaluate, revert, stable, scale, dispatch, periodic/force.
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/write.hpp"
#include "actors/api/jobs/job_endpoint.hpp"
#include "runtime/base/base64.hpp"

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

/// Writes what `decide` decides; the answer is that of a registration.
template <class Decide>
void write_evaluated(Call call, Decide decide) {
  write(std::move(call), std::move(decide),
        [](const Written<Decision>& done) { return job_registered(done, ""); });
}

/// Whether failed allocations are to be placed anew whatever their policy.
Result<bool> read_evaluate(const Call& call) {
  if (call.request().body.empty()) return false;
  const auto body = read_body(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "JobEvaluateRequest"};
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

/// Checks that the body's JobID is the path's.
Result<> check_job_id(BodyFields& fields, const Call& call) {
  const auto id = fields.text("JobID");
  NOMAD_TRY(fields.check());
  if (id.empty()) return bad_request("JobID must be specified");
  if (id != call.rest) return bad_request("Job ID does not match");
  return {};
}

struct Revert {
  std::uint64_t version = 0;
  std::optional<std::uint64_t> enforce_prior_version;
};

Result<Revert> read_revert(const Call& call) {
  const auto body = read_body(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "JobRevertRequest"};
  NOMAD_TRY(check_job_id(fields, call));
  Revert revert;
  revert.version = fields.unsigned_integer("JobVersion");
  revert.enforce_prior_version = fields.maybe_unsigned("EnforcePriorVersion");
  NOMAD_TRY(fields.check());
  return revert;
}

struct Stability {
  std::uint64_t version = 0;
  bool stable = false;
};

Result<Stability> read_stability(const Call& call) {
  const auto body = read_body(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "JobStabilityRequest"};
  NOMAD_TRY(check_job_id(fields, call));
  Stability stability;
  stability.version = fields.unsigned_integer("JobVersion");
  stability.stable = fields.boolean("Stable");
  NOMAD_TRY(fields.check());
  return stability;
}

struct Scaling {
  std::string group;
  std::int64_t count = 0;
};

Result<Scaling> read_scaling(const Call& call) {
  const auto body = read_body(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "ScalingRequest"};
  Scaling scaling;
  if (const auto* target = fields.object("Target")) {
    BodyFields inner{*target, "Target"};
    scaling.group = inner.text("Group");
    const auto job = inner.text("Job");
    NOMAD_TRY(inner.check());
    if (!job.empty() && job != call.rest) return bad_request("job ID in payload did not match URL");
  }
  const bool has_count = fields.find("Count") != nullptr;
  scaling.count = fields.integer("Count");
  NOMAD_TRY(fields.check());
  if (scaling.group.empty()) return bad_request("missing task group name for scaling action");
  if (!has_count) return bad_request("missing count for scaling action");
  if (scaling.count < 0) return bad_request("scaling action count can't be negative");
  return scaling;
}

Result<cluster::DispatchRequest> read_dispatch(const Call& call) {
  const auto body = read_body(call.request());
  if (!body) return body.error();
  BodyFields fields{*body, "JobDispatchRequest"};
  const auto id = fields.text("JobID");
  auto payload = decode_base64(fields.text("Payload"));
  cluster::DispatchRequest request;
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
    for (const JsonNode* key : sorted_keys(*meta))
      request.meta.emplace_back(key->text(), values.text(key->text()));
    NOMAD_TRY(values.check());
  }
  return request;
}

Answer job_dispatched(const Written<Decision>& done) {
  const bool is_new = done.outcome != nullptr;
  std::string out;
  JsonObject{out}
      .text("DispatchedJobID", done.decision.job_id)
      .number("EvalCreateIndex", is_new ? done.index : 0)
      .text("EvalID", done.decision.eval_id)
      .number("Index", done.index)
      .number("JobCreateIndex", is_new ? done.index : done.decision.job_modify_index);
  return Answer::json(std::move(out)).with_index(done.index);
}

}  // namespace

void evaluate_job(Call call) {
  const auto force = read_evaluate(call);
  if (!force) return call.fail(force.error());
  const auto job = name_of(call);
  write_evaluated(std::move(call), [&](const Snapshot& state, const EvalSeed& seed) {
    return cluster::decide_evaluate(state, job.ns, job.id, *force, seed);
  });
}

void revert_job(Call call) {
  const auto revert = read_revert(call);
  if (!revert) return call.fail(revert.error());
  const auto job = name_of(call);
  const auto max_count = call.context->options.jobs.max_count;
  write_evaluated(std::move(call), [&](const Snapshot& state, const EvalSeed& seed) {
    return cluster::decide_revert(state, job.ns, job.id, revert->version,
                                  revert->enforce_prior_version, max_count, seed);
  });
}

void scale_job(Call call) {
  const auto scaling = read_scaling(call);
  if (!scaling) return call.fail(scaling.error());
  const auto job = name_of(call);
  const auto max_count = call.context->options.jobs.max_count;
  write_evaluated(std::move(call), [&](const Snapshot& state, const EvalSeed& seed) {
    return cluster::decide_scale(state, job.ns, job.id, scaling->group, scaling->count, max_count,
                                 seed);
  });
}

void set_job_stability(Call call) {
  const auto asked = read_stability(call);
  if (!asked) return call.fail(asked.error());
  const auto job = name_of(call);
  write(
      std::move(call),
      [&](const Snapshot& state, const EvalSeed&) {
        return cluster::decide_stability(state, job.ns, job.id, asked->version, asked->stable);
      },
      index_answer<Decision>);
}

void dispatch_job(Call call) {
  auto request = read_dispatch(call);
  if (!request) return call.fail(request.error());
  write(
      std::move(call),
      [&](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_dispatch(state, *request, seed);
      },
      job_dispatched);
}

void force_periodic(Call call) {
  const auto job = name_of(call);
  write(
      std::move(call),
      [&](const Snapshot& state, const EvalSeed& seed) {
        return cluster::decide_periodic_launch(state, job.ns, job.id, seed);
      },
      [](const Written<Decision>& done) {
        std::string out;
        JsonObject{out}
            .number("EvalCreateIndex", done.index)
            .text("EvalID", done.decision.eval_id)
            .number("Index", done.index);
        return Answer::json(std::move(out)).with_index(done.index);
      });
}

}  // namespace nomad::api
