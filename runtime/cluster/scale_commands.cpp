#include "runtime/cluster/scale_commands.hpp"

#include <fmt/format.h>

#include "runtime/cluster/job_rights.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::cluster {
namespace {

Error scale_mistake(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

Result<> check_request(const ScaleRequest& request) {
  if (request.group.empty()) return scale_mistake("missing task group name for scaling action");
  if (request.count && *request.count < 0)
    return scale_mistake("scaling action count can't be negative");
  if (request.count && request.error)
    return scale_mistake("scaling action should not contain count if error is true");
  return {};
}

Result<> check_bounds(schema::TaskGroup::Reader group, std::int64_t count) {
  if (!group.hasScaling()) return {};
  const auto policy = group.getScaling();
  if (count < policy.getMin())
    return scale_mistake(fmt::format("group count was less than scaling policy minimum: {} < {}",
                                     count, policy.getMin()));
  if (count > policy.getMax())
    return scale_mistake(fmt::format("group count was greater than scaling policy maximum: {} > {}",
                                     count, policy.getMax()));
  return {};
}

Result<> check_no_deployment(const state::Snapshot& snapshot, schema::Job::Reader job) {
  const auto last = snapshot.latest_deployment(view(job.getNamespace()), view(job.getId()));
  if (last && last->getJobCreateIndex() == job.getCreateIndex()
      && state::is_active(last->getStatus()))
    return scale_mistake("job scaling blocked due to active deployment");
  return {};
}

std::optional<unsigned> find_group(schema::Job::Reader job, std::string_view name) {
  const auto groups = job.getTaskGroups();
  for (unsigned i = 0; i < groups.size(); ++i)
    if (view(groups[i].getName()) == name) return i;
  return std::nullopt;
}

/// The registration of the job with that count for its group.
Result<Decision> rescaled(const state::Snapshot& snapshot,
                          const access::Allowed& allowed,
                          const Object<schema::Job>& job,
                          unsigned group,
                          std::int64_t count,
                          std::int64_t max_count,
                          const EvalSeed& seed) {
  NOMAD_TRY(check_bounds(job->getTaskGroups()[group], count));
  NOMAD_TRY(check_no_deployment(snapshot, *job));
  Draft<schema::Job> draft{job};
  draft->getTaskGroups()[group].setCount(count);
  if (count > job->getTaskGroups()[group].getCount())
    NOMAD_TRY(check_count(draft.reader(), max_count));
  return register_version(allowed, draft.reader(), schema::EvalTrigger::JOB_SCALING, 0, seed);
}

}  // namespace

Result<Decision> decide_scale(const state::Snapshot& snapshot,
                              const access::Asking& asking,
                              const ScaleRequest& request,
                              std::int64_t max_count,
                              const EvalSeed& seed) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {request.ns}));
  NOMAD_TRY(check_registration_open(snapshot, asking.who));
  NOMAD_TRY(check_request(request));
  const auto job = snapshot.job(request.ns, request.job_id);
  if (!job) return Error{Errc::not_found, fmt::format("job \"{}\" not found", request.job_id)};
  if (view(job->getType()) == "system" || view(job->getType()) == "sysbatch")
    return scale_mistake(fmt::format("cannot scale jobs of type \"{}\"", view(job->getType())));
  const auto group = find_group(*job, request.group);
  if (!group)
    return scale_mistake(fmt::format(
        "task group \"{}\" specified for scaling does not exist in job", request.group));
  Decision decision{
      .allowed = allowed, .job_id = request.job_id, .job_modify_index = job->getModifyIndex()};
  Draft<schema::Command> draft;
  auto command = draft->initJobScale();
  if (request.count) {
    NOMAD_TRY(authorize_pool(asking.who, *job));
    decision = NOMAD_TRY(rescaled(snapshot, allowed, job, *group, *request.count, max_count, seed));
    command.setRegistration(decision.command->getJobRegister());
    auto registration = command.getRegistration();
    registration.setEnforceIndex(true);
    registration.setJobModifyIndex(job->getJobModifyIndex());
    registration.getSourceOf().setValue(job->getVersion());
  }
  command.setNamespace(request.ns);
  command.setJobId(request.job_id);
  command.setTaskGroup(request.group);
  auto event = command.initEvent();
  event.setTime(seed.now);
  event.setPreviousCount(job->getTaskGroups()[*group].getCount());
  if (request.count) event.getCount().setValue(*request.count);
  event.setMessage(request.message);
  event.setError(request.error);
  if (!request.meta.empty()) event.setMeta(request.meta);
  event.setEvalId(decision.eval_id);
  decision.command = draft.freeze();
  return decision;
}

}  // namespace nomad::cluster
