#include "runtime/cluster/job_commands.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/ids.hpp"
#include "runtime/cluster/admission/admission.hpp"
#include "runtime/cluster/job_rights.hpp"
#include "runtime/cluster/periodic.hpp"
#include "runtime/cluster/regions/multiregion.hpp"
#include "runtime/jobspec/validate/namespace_rules.hpp"
#include "runtime/jobspec/validate/total_count.hpp"
#include "runtime/jobspec/validate/validate.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/object/job_kind.hpp"
#include "runtime/object/meaning.hpp"

namespace nomad::cluster {
namespace {

using schema::EvalTrigger;

constexpr std::size_t most_payload_bytes = 16 * 1024;

Error refused(std::string what) {
  return {Errc::rejected, std::move(what)};
}

Error job_not_found() {
  return {Errc::not_found, "job not found"};
}

Error version_not_found(std::string_view ns, std::string_view job_id, std::uint64_t version) {
  return {Errc::not_found, fmt::format("job \"{}\" in namespace \"{}\" at version {} not found",
                                       job_id, ns, version)};
}

bool has_no_evals(schema::Job::Reader job) {
  return job.hasPeriodic() || is_parameterized(job);
}

Result<> check_update(schema::Job::Reader stored, schema::Job::Reader job) {
  if (view(stored.getType()) != view(job.getType()))
    return refused(fmt::format("cannot update job from type \"{}\" to \"{}\"",
                               view(stored.getType()), view(job.getType())));
  if (stored.hasPeriodic() && !job.hasPeriodic())
    return refused("cannot update periodic job to being non-periodic");
  if (!stored.hasPeriodic() && job.hasPeriodic())
    return refused("cannot update non-periodic job to being periodic");
  if (is_parameterized(stored) && !is_parameterized(job))
    return refused("cannot update parameterized job to being non-parameterized");
  if (!is_parameterized(stored) && is_parameterized(job))
    return refused("cannot update non-parameterized job to being parameterized");
  if (stored.getDispatched() != job.getDispatched())
    return refused("field 'Dispatched' is read-only");
  return {};
}

Object<schema::Command> eval_update(const Object<schema::Evaluation>& eval) {
  Draft<schema::Command> draft;
  draft->initEvalUpdate().initEvaluations(1).setWithCaveats(0, *eval);
  return draft.freeze();
}

}  // namespace

Decision register_version(const access::Allowed& allowed,
                          schema::Job::Reader job,
                          EvalTrigger trigger,
                          std::int64_t eval_priority,
                          const EvalSeed& seed) {
  Draft<schema::Command> draft;
  Decision decision{.allowed = allowed};
  decision.job_id = copy(job.getId());
  auto command = draft->initJobRegister();
  command.setJob(job);
  command.getJob().setSubmitTime(seed.now);
  command.getJob().setStatus("");
  if (!has_no_evals(job)) {
    const auto eval = eval_for_job(job, trigger, seed, eval_priority);
    command.setEvaluation(*eval);
    decision.eval_id = copy(eval->getId());
  }
  decision.command = draft.freeze();
  return decision;
}

Result<Decision> decide_stability(const state::Snapshot& snapshot,
                                  const access::Asking& asking,
                                  std::string_view ns,
                                  std::string_view job_id,
                                  std::uint64_t version,
                                  bool stable) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {ns}));
  if (!snapshot.job_version(ns, job_id, version)) return version_not_found(ns, job_id, version);
  Draft<schema::Command> draft;
  auto stability = draft->initJobStability();
  stability.setNamespace(text(ns));
  stability.setJobId(text(job_id));
  stability.setVersion(version);
  stability.setStable(stable);
  return Decision{.allowed = allowed, .command = draft.freeze()};
}

bool same_specification(schema::Job::Reader a, schema::Job::Reader b) {
  return object::same_meaning(a, b);
}

namespace {

/// What is registered is what stands: it is evaluated, and no version is made.
Decision evaluated_anew(const access::Allowed& allowed,
                        schema::Job::Reader stored,
                        std::int64_t eval_priority,
                        const EvalSeed& seed,
                        std::vector<std::string> warnings) {
  Decision decision{.allowed = allowed, .warnings = std::move(warnings)};
  decision.job_id = copy(stored.getId());
  decision.job_modify_index = stored.getJobModifyIndex();
  if (has_no_evals(stored)) return decision;
  const auto eval = eval_for_job(stored, EvalTrigger::JOB_REGISTER, seed, eval_priority);
  decision.eval_id = copy(eval->getId());
  decision.command = eval_update(eval);
  return decision;
}

/// The job, whose tasks have the resources of the stored ones of the same group and name.
Object<schema::Job> with_stored_resources(const Object<schema::Job>& job,
                                          schema::Job::Reader stored) {
  std::map<std::pair<std::string_view, std::string_view>, schema::Resources::Reader> known;
  for (const auto group : stored.getTaskGroups())
    for (const auto task : group.getTasks())
      if (task.hasResources())
        known.emplace(std::pair{view(group.getName()), view(task.getName())}, task.getResources());
  Draft<schema::Job> draft{job};
  for (auto group : draft->getTaskGroups())
    for (auto task : group.getTasks())
      if (const auto found = known.find({view(group.getName()), view(task.getName())});
          found != known.end())
        task.setResources(found->second);
  return draft.freeze();
}

}  // namespace

Result<Decision> decide_register(const state::Snapshot& snapshot,
                                 const access::Asking& asking,
                                 const RegisterRequest& request,
                                 const EvalSeed& seed) {
  const auto ns = view(request.job->getNamespace());
  const auto allowed = NOMAD_TRY(access::authorize(asking, {ns}));
  const auto stored = snapshot.job(ns, view(request.job->getId()));
  const auto kept = request.preserve_resources && stored
                        ? with_stored_resources(request.job, *stored)
                        : request.job;
  const auto job = *kept;
  NOMAD_TRY(authorize_contents(asking.who, job));
  NOMAD_TRY(check_registration_open(snapshot, asking.who));
  auto warnings = NOMAD_TRY(
      judge_submission(snapshot, asking.who, job,
                       {.overrides = request.policy_override, .read = request.read_admission}));
  if (stored) NOMAD_TRY(check_update(*stored, job));
  // A condition that does not hold of this snapshot is for the log to refuse.
  const bool is_held = !request.enforce_index
                       || (stored && stored->getJobModifyIndex() == request.job_modify_index);
  const bool unchanged = stored && is_held && same_specification(*stored, job);
  if (unchanged)
    return evaluated_anew(allowed, *stored, request.eval_priority, seed, std::move(warnings));
  auto decision
      = register_version(allowed, job, EvalTrigger::JOB_REGISTER, request.eval_priority, seed);
  decision.warnings = std::move(warnings);
  const auto deployment = first_deployment(job, request.eval_priority, *seed.random);
  if (request.enforce_index || request.preserve_counts || deployment) {
    Draft<schema::Command> draft{decision.command};
    auto command = draft->getJobRegister();
    if (deployment) command.setDeployment(*deployment);
    command.setEnforceIndex(request.enforce_index);
    command.setJobModifyIndex(request.job_modify_index);
    command.setKeepCounts(request.preserve_counts);
    decision.command = draft.freeze();
  }
  return decision;
}

Result<Decision> decide_deregister(const state::Snapshot& snapshot,
                                   const access::Asking& asking,
                                   std::string_view ns,
                                   std::string_view job_id,
                                   bool purge,
                                   std::int64_t eval_priority,
                                   const EvalSeed& seed) {
  Decision decision{.allowed = NOMAD_TRY(access::authorize(asking, {ns}))};
  decision.job_id = job_id;
  const auto job = snapshot.job(ns, job_id);
  if (!job) return decision;
  Draft<schema::Command> draft;
  auto command = draft->initJobDeregister();
  command.setNamespace(text(ns));
  command.setJobId(text(job_id));
  command.setPurge(purge);
  command.setSubmitTime(seed.now);
  if (!has_no_evals(*job)) {
    Draft<schema::Evaluation> eval{
        eval_for_job(*job, EvalTrigger::JOB_DEREGISTER, seed, eval_priority)};
    decision.eval_id = copy(eval.reader().getId());
    command.setEvaluation(eval.reader());
  }
  decision.command = draft.freeze();
  return decision;
}

Result<Decision> decide_skip_delays(const state::Snapshot& snapshot,
                                    const access::Asking& asking,
                                    std::string_view ns,
                                    std::string_view job_id) {
  Decision decision{.allowed = NOMAD_TRY(access::authorize(asking, {ns}))};
  std::vector<state::AllocRef> rows;
  // Of one that has ended meanwhile nothing is asked any more.
  for (const auto& entry : snapshot.unguarded().allocs_by_job(ns, job_id))
    if (!entry.value()->terminal()) rows.push_back(entry.value());
  if (rows.empty()) return decision;
  Draft<schema::Command> draft;
  auto entries = draft->initAllocTransition().initEntries(static_cast<unsigned>(rows.size()));
  for (unsigned i = 0; i < entries.size(); ++i) {
    entries[i].setAllocId(text(rows[i]->alloc->id()));
    entries[i].initTransition().initNoShutdownDelay().setValue(true);
  }
  decision.command = draft.freeze();
  return decision;
}

namespace {

/// Whether the allocation has failed, nothing has followed it, and its group places failed ones
/// anew at all: then only the delay is overruled.
bool may_be_forced(AllocView alloc, schema::Job::Reader job) {
  if (alloc.client_status() != schema::ClientStatus::FAILED || !alloc.next().empty()
      || alloc.job_create_index() != job.getCreateIndex())
    return false;
  if (alloc.forces_reschedule()) return false;
  for (const auto group : job.getTaskGroups()) {
    if (view(group.getName()) != alloc.task_group()) continue;
    const auto policy = group.getReschedulePolicy();
    return group.hasReschedulePolicy() && (policy.getAttempts() > 0 || policy.getUnlimited());
  }
  return false;
}

}  // namespace

Result<Decision> decide_evaluate(const state::Snapshot& snapshot,
                                 const access::Asking& asking,
                                 std::string_view ns,
                                 std::string_view job_id,
                                 bool force_reschedule,
                                 const EvalSeed& seed) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {ns}));
  const auto job = snapshot.job(ns, job_id);
  if (!job) return job_not_found();
  if (job->hasPeriodic()) return refused("can't evaluate periodic job");
  if (is_parameterized(*job)) return refused("can't evaluate parameterized job");
  NOMAD_TRY(authorize_pool(asking.who, *job));
  const auto eval = eval_for_job(*job, EvalTrigger::JOB_REGISTER, seed);
  Decision decision{.allowed = allowed,
                    .eval_id = copy(eval->getId()),
                    .job_id = std::string{job_id},
                    .job_modify_index = job->getJobModifyIndex()};
  std::vector<std::string> failed;
  // One that has been replaced meanwhile is not placed again: the scheduler looks for that.
  if (force_reschedule)
    for (const auto& entry : snapshot.unguarded().allocs_by_job(ns, job_id)) {
      const auto alloc = *entry.value()->alloc;
      if (may_be_forced(alloc, *job)) failed.push_back(std::string{alloc.id()});
    }
  if (failed.empty()) {
    decision.command = eval_update(eval);
    return decision;
  }
  Draft<schema::Command> draft;
  auto command = draft->initAllocTransition();
  auto entries = command.initEntries(static_cast<unsigned>(failed.size()));
  for (unsigned i = 0; i < entries.size(); ++i) {
    entries[i].setAllocId(text(failed[i]));
    entries[i].initTransition().initForceReschedule().setValue(true);
  }
  command.initEvaluations(1).setWithCaveats(0, *eval);
  decision.command = draft.freeze();
  return decision;
}

Result<> check_registration_open(const state::Snapshot& snapshot, const access::Principal& who) {
  if (!snapshot.scheduler_configuration()->getRejectJobRegistration()) return {};
  if (access::is_manager(who)) return {};
  return Error{Errc::permission_denied,
               "Job registration, dispatch, and scale are disabled by the scheduler configuration"};
}

Result<> check_count(schema::Job::Reader job, std::int64_t max_count) {
  jobspec::TotalCount total;
  for (const auto group : job.getTaskGroups())
    total.add(group.getCount());
  return total.check(max_count);
}

namespace {

/// Whether its namespace still takes a version that it took once, and its pool is there.
Result<> check_position(const state::Snapshot& snapshot, schema::Job::Reader job) {
  std::vector<std::string> errors;
  if (const auto ns = snapshot.get_namespace(view(job.getNamespace())))
    errors = jobspec::namespace_errors(job, *ns);
  if (const auto pool = view(job.getNodePool()); !pool.empty() && !snapshot.node_pool(pool))
    errors.push_back(
        fmt::format("job \"{}\" is in nonexistent node pool \"{}\"", view(job.getId()), pool));
  if (!errors.empty()) return refused(jobspec::join_errors(errors));
  return {};
}

}  // namespace

Result<Decision> decide_revert(const state::Snapshot& snapshot,
                               const access::Asking& asking,
                               std::string_view ns,
                               std::string_view job_id,
                               std::uint64_t version,
                               std::optional<std::uint64_t> enforce_prior_version,
                               std::int64_t max_count,
                               const EvalSeed& seed,
                               const ReadAdmission& read_admission) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {ns}));
  NOMAD_TRY(check_registration_open(snapshot, asking.who));
  const auto current = snapshot.job(ns, job_id);
  if (!current) return Error{Errc::not_found, fmt::format("job \"{}\" not found", job_id)};
  if (current->getVersion() == version)
    return refused(fmt::format("can't revert to current version"));
  if (enforce_prior_version && *enforce_prior_version != current->getVersion())
    return Error{Errc::conflict, fmt::format("Current job has version {}; enforcing version {}",
                                             current->getVersion(), *enforce_prior_version)};
  const auto target = snapshot.job_version(ns, job_id, version);
  if (!target) return version_not_found(ns, job_id, version);
  NOMAD_TRY(authorize_contents(asking.who, *target));
  NOMAD_TRY(check_position(snapshot, *target));
  NOMAD_TRY(check_count(*target, max_count));
  auto warnings
      = NOMAD_TRY(judge_submission(snapshot, asking.who, *target, {.read = read_admission}));
  Draft<schema::Job> draft{target};
  draft->setStop(false);
  draft->setVersion(0);  // it stays as stable as it was
  if (same_specification(*current, draft.reader()))
    return evaluated_anew(allowed, *current, 0, seed, std::move(warnings));
  auto decision = register_version(allowed, draft.reader(), EvalTrigger::JOB_REGISTER, 0, seed);
  decision.warnings = std::move(warnings);
  Draft<schema::Command> command{decision.command};
  command->getJobRegister().getSourceOf().setValue(version);
  if (enforce_prior_version) {
    command->getJobRegister().setEnforceIndex(true);
    command->getJobRegister().setJobModifyIndex(current->getJobModifyIndex());
  }
  decision.command = command.freeze();
  return decision;
}

namespace {

Result<> check_dispatch(schema::Job::Reader job, const DispatchRequest& request) {
  const auto config = job.getParameterizedJob();
  const auto payload = view(config.getPayload());
  if (payload == "required" && request.payload.empty())
    return refused("Payload is not provided but required by parameterized job");
  if (payload == "forbidden" && !request.payload.empty())
    return refused("Payload provided but forbidden by parameterized job");
  if (request.payload.size() > most_payload_bytes)
    return refused(fmt::format("Payload exceeds maximum size; {} > {}", request.payload.size(),
                               most_payload_bytes));
  std::set<std::string_view> given;
  for (const auto& [key, value] : request.meta)
    given.insert(key);
  std::set<std::string_view> missing;
  std::set<std::string_view> unpermitted = given;
  for (auto key : config.getMetaRequired()) {
    if (!given.contains(view(key))) missing.insert(view(key));
    unpermitted.erase(view(key));
  }
  for (auto key : config.getMetaOptional())
    unpermitted.erase(view(key));
  if (!unpermitted.empty())
    return refused(fmt::format("Dispatch request included unpermitted metadata keys: [{}]",
                               fmt::join(unpermitted, " ")));
  if (!missing.empty())
    return refused(
        fmt::format("Dispatch did not provide required meta keys: [{}]", fmt::join(missing, " ")));
  return {};
}

void merge_meta(schema::Job::Builder job,
                const std::vector<std::pair<std::string, std::string>>& meta) {
  std::map<std::string, std::string> all;
  for (auto entry : job.asReader().getMeta())
    all[copy(entry.getKey())] = copy(entry.getValue());
  for (const auto& [key, value] : meta)
    all[key] = value;
  fill_entries(job.initMeta(static_cast<unsigned>(all.size())), all);
}

/// What a child job has of its parent, its version too, under a name of its own.
Draft<schema::Job>& make_child(Draft<schema::Job>& child, const std::string& id) {
  const auto parent = copy(child.reader().getId());
  child->setParentId(text(parent));
  child->setId(text(id));
  child->setName(text(id));
  child->setStatus("");
  child->setStable(false);
  return child;
}

std::int64_t unix_seconds(const EvalSeed& seed) {
  return seed.now / 1'000'000'000;
}

}  // namespace

Result<Decision> decide_dispatch(const state::Snapshot& snapshot,
                                 const access::Asking& asking,
                                 const DispatchRequest& request,
                                 const EvalSeed& seed) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {request.ns}));
  NOMAD_TRY(check_registration_open(snapshot, asking.who));
  const auto parent = snapshot.job(request.ns, request.job_id);
  if (!parent) return Error{Errc::not_found, "parameterized job not found"};
  if (!is_parameterized(*parent))
    return refused("Specified job \"" + request.job_id + "\" is not a parameterized job");
  if (parent->getStop()) return refused("Specified job \"" + request.job_id + "\" is stopped");
  NOMAD_TRY(authorize_pool(asking.who, *parent));
  NOMAD_TRY(check_dispatch(*parent, request));
  if (!request.idempotency_token.empty())
    if (const auto known
        = snapshot.dispatched(request.ns, request.job_id, request.idempotency_token))
      return Decision{.allowed = allowed,
                      .job_id = copy(known->getId()),
                      .job_modify_index = known->getCreateIndex()};
  Draft<schema::Job> child{parent};
  const auto prefix = request.id_prefix.empty() ? "" : request.id_prefix + '-';
  make_child(child, fmt::format("{}/dispatch-{}{}-{}", request.job_id, prefix, unix_seconds(seed),
                                short_id(make_uuid(*seed.random))));
  child->setDispatched(true);
  child->setDispatchIdempotencyToken(text(request.idempotency_token));
  if (request.priority != 0) child->setPriority(request.priority);
  if (!request.payload.empty())
    child->setPayload(capnp::Data::Reader{
        reinterpret_cast<const unsigned char*>(request.payload.data()), request.payload.size()});
  merge_meta(*child, request.meta);
  return register_version(allowed, child.reader(), EvalTrigger::JOB_REGISTER, 0, seed);
}

namespace {

/// The launch that has this child already; nothing is to be written for it.
Decision launched_before(const state::Snapshot& snapshot,
                         const access::Allowed& allowed,
                         schema::Job::Reader child) {
  Decision decision{.allowed = allowed};
  decision.job_id = copy(child.getId());
  decision.job_modify_index = child.getJobModifyIndex();
  for (const auto& entry : snapshot.evals_by_job(view(child.getNamespace()), view(child.getId())))
    if (entry.value()->getTriggeredBy() == EvalTrigger::PERIODIC_JOB)
      decision.eval_id = copy(entry.value()->getId());
  return decision;
}

}  // namespace

Result<Decision> decide_periodic_launch(const state::Snapshot& snapshot,
                                        const access::Asking& asking,
                                        std::string_view ns,
                                        std::string_view job_id,
                                        const EvalSeed& seed) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {ns}));
  const auto parent = snapshot.job(ns, job_id);
  if (!parent) return job_not_found();
  if (!parent->hasPeriodic()) return refused("can't force launch non-periodic job");
  NOMAD_TRY(authorize_pool(asking.who, *parent));
  if (!is_periodic_active(*parent))
    return refused(
        fmt::format("force launch for job \"{0}\" failed: "
                    "can't force run non-tracked job \"{0}\" ({1})",
                    job_id, ns));
  const auto child_id = fmt::format("{}/periodic-{}", job_id, unix_seconds(seed));
  if (const auto known = snapshot.job(ns, child_id))
    return launched_before(snapshot, allowed, *known);
  Draft<schema::Job> child{parent};
  make_child(child, child_id);
  child->disownPeriodic();
  auto decision = register_version(allowed, child.reader(), EvalTrigger::PERIODIC_JOB, 0, seed);
  Draft<schema::Command> draft;
  auto command = draft->initPeriodicLaunchRegister();
  command.setChild(decision.command->getJobRegister());
  command.getChild().setEnforceIndex(true);  // that there is none yet
  auto launch = command.initLaunch();
  launch.setNamespace(text(ns));
  launch.setJobId(text(job_id));
  launch.setTime(unix_seconds(seed));
  decision.command = draft.freeze();
  return decision;
}

Object<schema::Command> launch_without_record(const Object<schema::Command>& launch) {
  Draft<schema::Command> draft;
  draft->setJobRegister(launch->getPeriodicLaunchRegister().getChild());
  return draft.freeze();
}

Result<Decision> decide_alloc_stop(const state::Snapshot& snapshot,
                                   const access::Asking& asking,
                                   std::string_view alloc_id,
                                   bool no_shutdown_delay,
                                   const EvalSeed& seed) {
  const auto row = snapshot.alloc(alloc_id);
  if (!row) return Error{Errc::not_found, "allocation not found"};
  const auto allowed = NOMAD_TRY(access::authorize(asking, {row->alloc->ns()}));
  const auto eval = row->job ? eval_for_job(*row->job, EvalTrigger::ALLOC_STOP, seed)
                             : eval_for_unknown_job(row->alloc->ns(), row->alloc->job_id(),
                                                    EvalTrigger::ALLOC_STOP, seed);
  Draft<schema::Command> draft;
  auto command = draft->initAllocTransition();
  auto entry = command.initEntries(1)[0];
  entry.setAllocId(text(alloc_id));
  auto transition = entry.initTransition();
  transition.initMigrate().setValue(true);
  if (no_shutdown_delay) transition.initNoShutdownDelay().setValue(true);
  command.initEvaluations(1).setWithCaveats(0, *eval);
  return Decision{.allowed = allowed, .command = draft.freeze(), .eval_id = copy(eval->getId())};
}

namespace {

/// What working out summaries looks at for one entry.
constexpr std::size_t most_counted_rows = 4096;

Object<schema::Command> reconcile_command(schema::Job::Reader first, schema::Job::Reader last) {
  Draft<schema::Command> draft;
  auto range = draft->initSummariesReconcile();
  for (auto [key, job] : {std::pair{range.initFirst(), first}, std::pair{range.initLast(), last}}) {
    key.setNamespace(job.getNamespace());
    key.setId(job.getId());
  }
  return draft.freeze();
}

/// How many rows the summary of a job is made of.
std::size_t rows_of_summary(const state::Snapshot& snapshot, schema::Job::Reader job) {
  const auto ns = view(job.getNamespace());
  const auto counts = snapshot.job_counts(ns, view(job.getId()));
  std::size_t rows = 1 + counts.allocs + counts.evals;
  if (!has_no_evals(job)) return rows;
  const auto children = copy(job.getId()) + '/';
  for ([[maybe_unused]] const auto& child : snapshot.jobs(ns, children))
    ++rows;
  return rows;
}

}  // namespace

Result<Decisions> decide_reconcile_summaries(const state::Snapshot& snapshot,
                                             const access::Asking& asking) {
  Decisions decisions{NOMAD_TRY(access::authorize(asking, {}))};
  Object<schema::Job> first;
  Object<schema::Job> last;
  std::size_t rows = 0;
  const auto finish = [&] {
    if (first) decisions.commands.push_back(reconcile_command(*first, *last));
    first = {};
    rows = 0;
  };
  for (const auto& entry : snapshot.jobs()) {
    const auto of_job = rows_of_summary(snapshot, *entry.value());
    if (rows + of_job > most_counted_rows) finish();
    if (!first) first = entry.value();
    last = entry.value();
    rows += of_job;
  }
  finish();
  return decisions;
}

}  // namespace nomad::cluster
