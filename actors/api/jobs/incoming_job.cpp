#include "actors/api/jobs/incoming_job.hpp"

#include <boost/json.hpp>

#include "actors/api/http/request_body.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::api {

namespace json = boost::json;

namespace {

/// What of the job's surroundings does not exist.
std::vector<std::string> missing_places(const state::Snapshot& snapshot, const json::object& job) {
  std::vector<std::string> out;
  const auto add = [&](const char* what, const std::string& name) {
    out.push_back("job \"" + text_member(job, "ID") + "\" is in nonexistent " + what + " \"" + name
                  + "\"");
  };
  const std::string ns = text_member(job, "Namespace");
  if (!snapshot.get_namespace(ns)) add("namespace", ns);
  const std::string pool = text_member(job, "NodePool");
  if (!snapshot.node_pool(pool)) add("node pool", pool);
  return out;
}

}  // namespace

std::string text_member(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains({name.data(), name.size()});
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

Result<IncomingJob> take_job(const Call& call, std::string_view id, const JobTexts& texts) {
  auto body = body_object(call.request());
  if (!body) return body.error();
  IncomingJob incoming{std::move(*body)};
  BodyFields fields{incoming.body, texts.type};
  const auto* job = fields.object("Job");
  NOMAD_TRY(fields.check());
  if (job == nullptr) return bad_request("Job must be specified");
  incoming.job = *job;
  NOMAD_TRY(jobspec::match_names(incoming.job));
  const auto* job_id = incoming.job.if_contains("ID");
  const bool has_id = job_id != nullptr && job_id->is_string();
  if (!has_id && !texts.only_validates) return bad_request(std::string{texts.without_id});
  if (!id.empty() && text_member(incoming.job, "ID") != id)
    return bad_request(std::string{texts.other_id});

  const auto& agent = call.context->options.agent;
  const auto region = jobspec::resolve_region(texts.only_validates ? json::object{} : incoming.job,
                                              call.request().parameter_or_empty("region"),
                                              fields.text("Region"), agent.region);
  if (!region.request.empty() && region.request != agent.region) {
    incoming.other_region = region.request;
    return incoming;
  }
  incoming.job["Region"] = region.job;
  incoming.job["Namespace"] = texts.only_validates
                                  ? jobspec::resolve_namespace(incoming.job, "", "")
                                  : jobspec::resolve_namespace(
                                      incoming.job, call.request().parameter_or_empty("namespace"),
                                      fields.text("Namespace"));
  const auto& limits = call.context->options.jobs;
  jobspec::AdmissionOptions admission;
  admission.default_priority = limits.default_priority;
  jobspec::admit(incoming.job, admission);
  jobspec::ValidateOptions rules;
  rules.max_priority = limits.max_priority;
  rules.max_count = limits.max_count;
  if (const auto& store = call.context->options.store) {
    const auto snapshot = store->snapshot();
    rules.memory_oversubscription
        = snapshot.scheduler_configuration()->getMemoryOversubscriptionEnabled();
    if (texts.only_validates) rules.state_errors = missing_places(snapshot, incoming.job);
  }
  incoming.validation = jobspec::validate(incoming.job, rules);
  return incoming;
}

Result<Object<schema::Job>> freeze_job(const json::object& job) {
  Draft<schema::Job> draft;
  NOMAD_TRY(from_json(job, *draft));
  draft->setSubmitTime(unix_now());
  draft->setConsulToken("");
  draft->setVaultToken("");
  return draft.freeze();
}

}  // namespace nomad::api
