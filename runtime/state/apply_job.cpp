// Jobs and their versions: registering, stopping, removing, stability; and what comes with them:
// events of scaling, and the sources that versions were registered from.
//
// `jobs` has the current version with its status; `job_versions` the newest six, among them the
// newest stable one, and all that have a tag; `retained_jobs` those older (or of a removed job)
// that allocations still run.
#include <algorithm>
#include <utility>

#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/state/apply_kind.hpp"
#include "runtime/state/scaling_policies.hpp"
#include "runtime/state/tracked_versions.hpp"

namespace nomad::state {

namespace {

constexpr unsigned kept_scaling_events = 20;
/// Of all groups of a job together, but for the newest event.
constexpr std::uint64_t kept_scaling_bytes = std::uint64_t{1} << 20U;

std::string retained_key(schema::Job::Reader job) {
  return join_key(view(job.getNamespace()), view(job.getId()),
                  number_key(job.getCreateIndex()) + number_key(job.getVersion()));
}

/// PreserveCounts: groups that the stored job has too keep its counts.
void keep_group_counts(schema::Job::Builder job, schema::Job::Reader stored) {
  for (auto group : job.getTaskGroups())
    for (auto old : stored.getTaskGroups())
      if (view(old.getName()) == view(group.asReader().getName())) group.setCount(old.getCount());
}

/// A refusal in the form in which clients get a job's mistakes.
Error refused(const std::string& id, const char* what, const std::string& name) {
  return {Errc::rejected, "1 error occurred:\n\t* job \"" + id + "\" is in nonexistent " + what
                              + " \"" + name + "\"\n\n"};
}

}  // namespace

std::optional<Error> Applier::check_job(JobReader job) const {
  const std::string id = copy(job.getId());
  if (id.empty()) return Error{Errc::rejected, "missing job ID"};
  const std::string ns = job.getNamespace().size() == 0 ? "default" : copy(job.getNamespace());
  if (!t_.namespaces.contains(ns)) return refused(id, "namespace", ns);
  const std::string pool = job.getNodePool().size() == 0 ? "default" : copy(job.getNodePool());
  if (!t_.node_pools.contains(pool)) return refused(id, "node pool", pool);
  return std::nullopt;
}

std::optional<Error> Applier::check_enforced(schema::JobRegister::Reader command,
                                             const Object<schema::Job>* existing) const {
  if (!command.getEnforceIndex()) return std::nullopt;
  const Index wanted = command.getJobModifyIndex();
  const std::string enforcing = "Enforcing job modify index " + std::to_string(wanted) + ": job ";
  if (existing == nullptr) {
    if (wanted == 0) return std::nullopt;
    return Error{Errc::conflict, enforcing + "does not exist"};
  }
  const Index actual = (*existing)->getJobModifyIndex();
  if (wanted == 0) return Error{Errc::conflict, enforcing + "already exists"};
  if (wanted == actual) return std::nullopt;
  return Error{Errc::conflict,
               enforcing + "exists with conflicting job modify index: " + std::to_string(actual)};
}

void Applier::job_register(schema::JobRegister::Reader command) {
  const auto job = command.getJob();
  const std::string_view ns
      = job.getNamespace().size() == 0 ? std::string_view{"default"} : view(job.getNamespace());
  const auto* existing = t_.jobs.find(join_key(ns, view(job.getId())));
  auto error = check_job(job);
  if (!error) error = check_enforced(command, existing);
  if (error) {
    outcome_.error = std::move(error);
    return;
  }
  const auto source = command.getSourceOf();
  const auto stored
      = put_job_spec(job, command.getKeepCounts(),
                     source.isValue() ? std::optional{source.getValue()} : std::nullopt);
  outcome_.job_modify_index = index_;
  if (command.hasDeployment()) begin_deployment(command.getDeployment(), *stored);
  if (!command.hasEvaluation()) return;
  Draft<schema::Evaluation> eval{command.getEvaluation()};
  if (command.hasDeployment()) eval->setDeploymentId(command.getDeployment().getId());
  put_eval(eval.reader(), index_);
}

/// Stores `job` as the newest version. `source_of`: the version that it has its submission of.
Object<schema::Job> Applier::put_job_spec(JobReader job,
                                          bool keep_counts,
                                          std::optional<std::uint64_t> source_of) {
  Draft<schema::Job> draft{job};
  if (job.getNamespace().size() == 0) draft->setNamespace("default");
  if (job.getNodePool().size() == 0) draft->setNodePool("default");
  const std::string key = kind::Jobs::key(draft.reader());
  const auto existing = found<kind::Jobs>(key);

  draft->setModifyIndex(index_);
  draft->setJobModifyIndex(index_);
  if (existing) {
    draft->setCreateIndex(existing->getCreateIndex());
    draft->setVersion(std::max(job.getVersion(), existing->getVersion() + 1));
    if (keep_counts) keep_group_counts(*draft, *existing);
  } else {
    draft->setCreateIndex(index_);
    if (job.getParentId().size() == 0) draft->setVersion(0);  // a child has its parent's
  }
  draft->disownVersionTag();  // it is of the version that this one is made of
  name_policies(*draft, existing, index_);
  const std::string_view before = existing ? view(existing->getStatus()) : std::string_view{};
  const std::string_view status = status_of(key, draft.reader(), false);
  draft->setStatus(text(status));

  const Object<schema::Job> stored = draft.freeze();
  if (status != before) count_child(*stored, before, status);
  replace<kind::Jobs>(existing, stored);
  put_job_version(stored);
  if (source_of) copy_submission(key, *source_of, *stored);
  prune_versions(key);
  extend_summary(*stored);
  touched_jobs_.try_emplace(key, false);
  if (stored->getStop())
    outcome_.jobs_stopped.emplace_back(copy(stored->getNamespace()), copy(stored->getId()));
  return stored;
}

void Applier::put_job_version(const Object<schema::Job>& job) {
  put<kind::JobVersions>(job);
  last_version_ = {};
}

/// Forgets a version, unless allocations still run it.
void Applier::drop_job_version(const Object<schema::Job>& job) {
  const std::string retained = retained_key(*job);
  if (t_.version_uses.contains(retained)) {
    t_.retained_jobs.insert_or_assign(retained, job);
    touch(Table::retained_jobs);
  }
  remove<kind::JobVersions>(kind::JobVersions::key(*job));
  remove<kind::JobSubmissions>(kind::JobVersions::key(*job));  // It has the same key.
  last_version_ = {};
}

/// Keeps the newest versions, and the newest stable one in place of the oldest of them. Those that
/// have a tag are kept besides.
void Applier::prune_versions(const std::string& key) {
  std::vector<Object<schema::Job>> versions;  // oldest first
  for (const auto& entry : t_.job_versions.prefix(key + '\0'))
    if (!entry.value()->hasVersionTag()) versions.push_back(entry.value());
  if (versions.size() <= tracked_versions) return;
  std::reverse(versions.begin(), versions.end());
  const auto stable = std::find_if(versions.begin(), versions.end(),
                                   [](const auto& version) { return version->getStable(); });
  if (stable != versions.end() && stable - versions.begin() >= std::ptrdiff_t{tracked_versions})
    std::iter_swap(stable, versions.begin() + tracked_versions - 1);
  for (std::size_t i = tracked_versions; i < versions.size(); ++i)
    drop_job_version(versions[i]);
}

void Applier::job_deregister(schema::JobDeregister::Reader command) {
  const std::string key = join_key(view(command.getNamespace()), view(command.getJobId()));
  if (const auto* found = t_.jobs.find(key)) {
    if (command.getPurge()) {
      purge_job(key);
    } else {
      Draft<schema::Job> draft{**found};
      draft->setStop(true);
      if (command.getSubmitTime() != 0) draft->setSubmitTime(command.getSubmitTime());
      put_job_spec(draft.reader(), false, draft->getVersion());
      outcome_.job_modify_index = index_;
    }
  }
  // Also when the row is gone: that is how what it left running gets stopped.
  if (command.hasEvaluation()) put_eval(command.getEvaluation(), index_);
}

void Applier::purge_job(const std::string& key) {
  const auto job = found<kind::Jobs>(key);
  if (!job) return;
  if (view(job->getStatus()) != "dead") count_child(*job, view(job->getStatus()), "dead");

  std::vector<Object<schema::Job>> versions;
  for (const auto& entry : t_.job_versions.prefix(key + '\0'))
    versions.push_back(entry.value());
  for (const auto& version : versions)
    drop_job_version(version);
  remove<kind::ScalingEvents>(key);
  replace<kind::Jobs>(job, {});
  summaries_.erase(key);
  remove<kind::JobSummaries>(key);
  remove<kind::PeriodicLaunches>(key);
  outcome_.jobs_stopped.emplace_back(copy(job->getNamespace()), copy(job->getId()));
}

void Applier::periodic_launch_register(schema::PeriodicLaunchRegister::Reader command) {
  job_register(command.getChild());
  if (outcome_.error) return;
  const auto launch = command.getLaunch();
  const std::string key = join_key(view(launch.getNamespace()), view(launch.getJobId()));
  const auto known = found<kind::PeriodicLaunches>(key);
  // An operator's launch may overtake the schedule's.
  if (known && known->getTime() >= launch.getTime()) return;
  if (!t_.jobs.contains(key)) return;  // purged meanwhile
  put_stamped<kind::PeriodicLaunches>(known, launch);
}

void Applier::job_stability(schema::JobStability::Reader command) {
  set_stable(view(command.getNamespace()), view(command.getJobId()), command.getVersion(),
             command.getStable());
}

void Applier::set_stable(std::string_view ns,
                         std::string_view id,
                         std::uint64_t version,
                         bool stable) {
  const std::string key = join_key(ns, id);
  const auto* found = t_.job_versions.find(join_key(key, number_key(version)));
  if (found == nullptr || (*found)->getStable() == stable) return;
  change_version(key, version, [stable](schema::Job::Builder job) { job.setStable(stable); });
}

/// Changes what is noted of a version; of the current job only if that is it. An unknown version
/// has been pruned.
template <class Change>
void Applier::change_version(const std::string& key, std::uint64_t version, Change change) {
  const auto* found = t_.job_versions.find(join_key(key, number_key(version)));
  if (found == nullptr) return;
  Draft<schema::Job> marked{**found};
  change(*marked);
  marked->setModifyIndex(index_);
  const auto* current = t_.jobs.find(key);
  const bool is_current = current != nullptr && (*current)->getVersion() == version;
  if (is_current) marked->setStatus((*current)->getStatus());
  put_job_version(marked.freeze());
  if (!is_current) return;
  Draft<schema::Job> job{**current};
  change(*job);
  job->setModifyIndex(index_);
  put<kind::Jobs>(job.freeze());
}

void Applier::job_version_tagging(schema::JobVersionTagging::Reader command) {
  const std::string key = join_key(view(command.getNamespace()), view(command.getJobId()));
  change_version(key, command.getVersion(), [command](schema::Job::Builder job) {
    if (command.hasTag())
      job.setVersionTag(command.getTag());
    else
      job.disownVersionTag();
  });
  if (!command.hasTag()) prune_versions(key);
}

/// Whether somebody has named a version of the job.
bool Applier::has_tag(const std::string& key) const {
  for (const auto& entry : t_.job_versions.prefix(key + '\0'))
    if (entry.value()->hasVersionTag()) return true;
  return false;
}

/// A registration that is refused leaves no event.
void Applier::job_scale(schema::JobScale::Reader command) {
  if (command.hasRegistration()) {
    job_register(command.getRegistration());
    if (outcome_.error) return;
  } else if (!t_.jobs.contains(join_key(view(command.getNamespace()), view(command.getJobId())))) {
    return refuse(Errc::not_found, "job \"" + copy(command.getJobId()) + "\" not found");
  }
  put_scaling_event(command);
}

namespace {

using GroupEvent = std::pair<std::string_view, schema::ScalingEvent::Reader>;

/// The events of all groups; null: none.
std::vector<GroupEvent> newest_first(const Object<schema::JobScalingEvents>* of) {
  std::vector<GroupEvent> events;
  if (of == nullptr) return events;
  for (const auto group : (*of)->getScalingEvents())
    for (const auto event : group.getValue())
      events.emplace_back(view(group.getKey()), event);
  sort_stably(events, [](const GroupEvent& a, const GroupEvent& b) {
    return a.second.getCreateIndex() > b.second.getCreateIndex();
  });
  return events;
}

}  // namespace

void Applier::put_scaling_event(schema::JobScale::Reader command) {
  const std::string key = join_key(view(command.getNamespace()), view(command.getJobId()));
  const auto* found = t_.scaling_events.find(key);
  std::map<std::string_view, std::vector<schema::ScalingEvent::Reader>> groups;
  auto& events = groups[view(command.getTaskGroup())];
  Draft<schema::ScalingEvent> newest{command.getEvent()};
  newest->setCreateIndex(index_);
  events.push_back(newest.reader());
  std::uint64_t bytes = 8 * newest.reader().totalSize().wordCount;
  for (const auto& [group, event] : newest_first(found)) {
    bytes += 8 * event.totalSize().wordCount;
    if (bytes > kept_scaling_bytes) break;
    auto& kept = groups[group];
    if (kept.size() < kept_scaling_events) kept.push_back(event);
  }
  Draft<schema::JobScalingEvents> draft;
  draft->setNamespace(command.getNamespace());
  draft->setJobId(command.getJobId());
  draft->setModifyIndex(index_);
  auto entries = draft->initScalingEvents(static_cast<unsigned>(groups.size()));
  unsigned at = 0;
  for (const auto& [group, of_group] : groups) {
    auto entry = entries[at++];
    entry.setKey(text(group));
    auto list = entry.initValue(static_cast<unsigned>(of_group.size()));
    for (unsigned i = 0; i < of_group.size(); ++i)
      list.setWithCaveats(i, of_group[i]);
  }
  put<kind::ScalingEvents>(draft.freeze());
}

/// Goes to the version of this JobModifyIndex. One that is not known any more needs none.
void Applier::job_submission(schema::JobSubmission::Reader submission) {
  const std::string key = join_key(view(submission.getNamespace()), view(submission.getJobId()));
  for (const auto& entry : t_.job_versions.prefix(key + '\0'))
    if (entry.value()->getJobModifyIndex() == submission.getJobModifyIndex())
      return put_submission(submission, *entry.value());
}

void Applier::put_submission(schema::JobSubmission::Reader submission, JobReader job) {
  Draft<schema::JobSubmission> draft{submission};
  draft->setVersion(job.getVersion());
  draft->setJobModifyIndex(job.getJobModifyIndex());
  put<kind::JobSubmissions>(draft.freeze());
}

/// A version that is made of an earlier one comes from the same source.
void Applier::copy_submission(const std::string& key, std::uint64_t from, JobReader job) {
  if (const auto* found = t_.job_submissions.find(join_key(key, number_key(from)))) {
    const Object<schema::JobSubmission> submission = *found;
    put_submission(*submission, job);
  }
}

}  // namespace nomad::state
