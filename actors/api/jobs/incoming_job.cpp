#include "actors/api/jobs/incoming_job.hpp"

#include <fmt/format.h>

#include "actors/api/forward/dispatch.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/roles/job_types.hpp"
#include "actors/roles/service_providers.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/validate/namespace_rules.hpp"
#include "runtime/scheduler/plan/placement_rules.hpp"

namespace nomad::api {

std::vector<std::string> state_errors(const state::Snapshot& snapshot,
                                      const jobspec::DraftBlock& job) {
  const auto ns = snapshot.get_namespace(job.text("Namespace"));
  std::vector<std::string> out;
  const auto add = [&](std::string_view what, std::string_view name) {
    out.push_back(
        fmt::format("job \"{}\" is in nonexistent {} \"{}\"", job.text("ID"), what, name));
  };
  if (!ns) add("namespace", job.text("Namespace"));
  if (ns) out = jobspec::namespace_errors(job, *ns);
  const std::string_view pool = job.text("NodePool");
  if (!snapshot.node_pool(pool)) add("node pool", pool);
  return out;
}

Result<IncomingJob> take_job(const Call& call,
                             const JobParts& parts,
                             std::string_view id,
                             const JobTexts& texts) {
  auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, texts.type};
  const auto* given = fields.object("Job");
  NOMAD_TRY(fields.check());
  if (given == nullptr) return bad_request("Job must be specified");
  auto draft = NOMAD_TRY(jobspec::JobDraft::decode(*given));
  jobspec::DraftBlock job = draft.job();
  if (!job.has("ID") && !texts.only_validates) return bad_request(std::string{texts.without_id});
  if (!id.empty() && job.text("ID") != id) return bad_request(std::string{texts.other_id});
  call.is_about(job.text("ID"));

  const auto& own_region = call.context->region;
  const auto query_region = call.request().parameter_or_empty("region");
  const auto region = jobspec::resolve_region(texts.only_validates ? jobspec::DraftBlock{} : job,
                                              query_region, fields.text("Region"), own_region);
  const auto ns = texts.only_validates ? jobspec::resolve_namespace(job, "", "")
                                       : jobspec::resolve_namespace(
                                           job, call.request().parameter_or_empty("namespace"),
                                           fields.text("Namespace"));
  IncomingJob incoming{std::move(body), std::move(draft)};
  if (!region.request.empty() && region.request != own_region) {
    incoming.other_region = region.request;
    return incoming;
  }
  NOMAD_TRY(authorize(call.asking, {ns}));
  job.set("Region", region.job);
  job.set("Namespace", ns);
  const auto& limits = parts.limits;
  jobspec::AdmissionOptions admission;
  admission.default_priority = limits.default_priority;
  const auto& store = call.context->state.store;
  const auto snapshot = store ? store->snapshot() : state::Snapshot{};
  const auto home = snapshot.get_namespace(ns);
  if (home) admission.default_node_pool = jobspec::default_node_pool(*home);
  jobspec::admit(job, admission);
  jobspec::ValidateOptions rules;
  rules.max_priority = limits.max_priority;
  rules.max_count = limits.max_count;
  rules.bounds = limits.bounds;
  rules.allow_refused = limits.allow_unsupported;
  if (parts.types) rules.job_types = parts.types->names();
  if (parts.providers) rules.providers = parts.providers->names();
  if (store) {
    rules.memory_oversubscription
        = scheduler::placement_rules(snapshot, job.text("NodePool")).memory_oversubscription;
    rules.state_errors = state_errors(snapshot, job);
  }
  incoming.validation = jobspec::validate(job, rules);
  return incoming;
}

Outcome pass_on(Call& call, const std::string& region, const JobParts& parts, JobHandler handler) {
  dispatch_to_region(std::move(call), region,
                     [&parts, handler](Call here) { here.settle(handler(here, parts)); });
  return later;
}

std::string region_of_job(const Call& call) {
  constexpr std::size_t most = 64 * 1024;  // nobody knows yet whether the caller is anybody
  if (call.request().body.size() > most || !call.context->forward) return {};
  const auto body = read_body(call.request());
  if (!body) return {};
  BodyFields fields{*body, "JobRegisterRequest"};
  const auto* given = fields.object("Job");
  if (given == nullptr) return {};
  auto draft = jobspec::JobDraft::decode(*given);
  if (!draft) return {};
  const auto& own = call.context->region;
  auto region = jobspec::resolve_region(draft->job(), "", fields.text("Region"), own).request;
  return region == own ? std::string{} : region;
}

Object<schema::Job> freeze_job(jobspec::JobDraft& draft, const access::Principal& who) {
  jobspec::DraftBlock job = draft.job();
  job.set("SubmitTime", unix_now());
  job.set("ConsulToken", "");
  job.set("VaultToken", "");
  const auto grant = who.grant();
  job.set("NomadTokenID", grant && !grant->workload ? grant->accessor : std::string{});
  return draft.freeze();
}

}  // namespace nomad::api
