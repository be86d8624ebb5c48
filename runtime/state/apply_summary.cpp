// What follows from a job's allocations, evaluations and children: its status and its summary.
//
// A summary's counts of completed and failed allocations are of the job's whole life, longer than
// that of the allocations: so the summary is stored, and only ever changed by steps.
#include "runtime/object/job_kind.hpp"
#include "runtime/state/apply_kind.hpp"

namespace nomad::state {

namespace {

bool is_running_until_stopped(schema::Job::Reader job) {
  return view(job.getType()) == "system" || job.hasPeriodic() || is_parameterized(job);
}

/// The count that an allocation of this status is in.
template <class GroupCounts>
std::int64_t& count_of(GroupCounts& group, schema::ClientStatus status) {
  using Status = schema::ClientStatus;
  switch (status) {
    case Status::PENDING:
      return group.starting;
    case Status::RUNNING:
      return group.running;
    case Status::COMPLETE:
      return group.complete;
    case Status::FAILED:
      return group.failed;
    case Status::LOST:
      return group.lost;
    case Status::UNKNOWN:
      return group.unknown;
  }
  return group.unknown;
}

/// Completed and failed ones stay in their counts.
bool only_grows(schema::ClientStatus status) {
  return status == schema::ClientStatus::COMPLETE || status == schema::ClientStatus::FAILED;
}

}  // namespace

/// The command's working copy of a summary; null if the job has none.
Applier::Summary* Applier::summary(std::string_view ns, std::string_view job_id) {
  const std::string key = join_key(ns, job_id);
  const auto known = summaries_.find(key);
  if (known != summaries_.end()) return &known->second;
  const auto* stored = t_.job_summaries.find(key);
  if (stored == nullptr) return nullptr;
  Summary loaded;
  loaded.ns = ns;
  loaded.job_id = job_id;
  loaded.create_index = (*stored)->getCreateIndex();
  const auto children = (*stored)->getChildren();
  loaded.pending_children = children.getPending();
  loaded.running_children = children.getRunning();
  loaded.dead_children = children.getDead();
  for (auto entry : (*stored)->getSummary()) {
    const auto group = entry.getValue();
    loaded.groups[copy(entry.getKey())] = {.queued = group.getQueued(),
                                           .complete = group.getComplete(),
                                           .failed = group.getFailed(),
                                           .running = group.getRunning(),
                                           .starting = group.getStarting(),
                                           .lost = group.getLost(),
                                           .unknown = group.getUnknown()};
  }
  return &summaries_.emplace(key, std::move(loaded)).first->second;
}

/// A new job gets a summary; a changed one the groups it lacks.
void Applier::extend_summary(JobReader job) {
  const std::string_view ns = view(job.getNamespace());
  const std::string_view id = view(job.getId());
  Summary* known = summary(ns, id);
  if (known == nullptr) {
    Summary created;
    created.ns = ns;
    created.job_id = id;
    created.create_index = index_;
    created.changed = true;
    known = &summaries_.emplace(join_key(ns, id), std::move(created)).first->second;
  }
  for (auto group : job.getTaskGroups())
    if (known->groups.try_emplace(copy(group.getName())).second) known->changed = true;
}

/// An allocation is new (`before` is null) or has another client status.
void Applier::count_alloc(const AllocView* before, AllocView after) {
  using Status = schema::ClientStatus;
  const Status now = after.client_status();
  if (before == nullptr ? now != Status::PENDING : before->client_status() == now) return;
  Summary* counts = summary(after.ns(), after.job_id());
  // An earlier job of that name, removed since, does not count for this one.
  if (counts == nullptr || counts->create_index != after.job_create_index()) return;
  const auto found = counts->groups.find(after.task_group());
  if (found == counts->groups.end()) return;
  GroupCounts& group = found->second;
  counts->changed = true;

  if (before == nullptr) {
    if (group.queued > 0) --group.queued;
  } else if (!only_grows(before->client_status())) {
    auto& count = count_of(group, before->client_status());
    if (count > 0) --count;
  }
  ++count_of(group, now);
}

/// A job's status changes: its parent counts its children by status.
void Applier::count_child(JobReader job, std::string_view before, std::string_view after) {
  if (job.getParentId().size() == 0) return;
  Summary* parent = summary(view(job.getNamespace()), view(job.getParentId()));
  if (parent == nullptr) return;
  const auto add = [&](std::string_view status, std::int64_t amount) {
    if (status == "pending") parent->pending_children += amount;
    if (status == "running") parent->running_children += amount;
    if (status == "dead") parent->dead_children += amount;
  };
  add(before, -1);
  add(after, 1);
  parent->changed = true;
}

void Applier::summaries_reconcile(schema::SummariesReconcile::Reader command) {
  const auto key_of = [](schema::Reap::JobKey::Reader job) {
    return join_key(view(job.getNamespace()), view(job.getId()));
  };
  const std::string last = key_of(command.getLast());
  for (auto at = t_.jobs.lower_bound(key_of(command.getFirst())); at.valid() && at.key() <= last;
       at.next())
    recount(std::string{at.key()}, *at.value());
}

/// What the summary counts, by what there is: of allocations and children that are forgotten
/// nothing is left to count.
void Applier::recount(const std::string& key, JobReader job) {
  Summary fresh;
  fresh.ns = view(job.getNamespace());
  fresh.job_id = view(job.getId());
  fresh.create_index = job.getCreateIndex();
  for (const auto group : job.getTaskGroups())
    fresh.groups[copy(group.getName())];
  for (const auto& entry : t_.allocs_by_job.prefix(key + '\0')) {
    const auto alloc = *entry.value()->alloc;
    if (alloc.job_create_index() != job.getCreateIndex()) continue;
    ++count_of(fresh.groups[std::string{alloc.task_group()}], alloc.client_status());
  }
  recount_queued(job, fresh);
  for (const auto& entry : t_.jobs.prefix(key + '/')) {
    const auto child = *entry.value();
    if (view(child.getParentId()) != fresh.job_id) continue;
    const auto status = view(child.getStatus());
    (status == "dead"      ? fresh.dead_children
     : status == "running" ? fresh.running_children
                           : fresh.pending_children)
        += 1;
  }
  const auto* known = summary(fresh.ns, fresh.job_id);
  fresh.changed = known == nullptr || !fresh.counts_as(*known);
  summaries_.insert_or_assign(key, std::move(fresh));
}

/// What waits for room is what the newest evaluation that has looked left over.
void Applier::recount_queued(JobReader job, Summary& counts) const {
  Object<schema::Evaluation> newest;
  for (const auto& entry :
       t_.evals_by_job.prefix(join_key(view(job.getNamespace()), view(job.getId()), {}))) {
    const auto& eval = entry.value();
    if (eval->getQueuedAllocations().size() == 0 || eval->getCreateIndex() < job.getCreateIndex())
      continue;
    if (!newest || eval->getModifyIndex() > newest->getModifyIndex()) newest = eval;
  }
  if (!newest) return;
  for (const auto entry : newest->getQueuedAllocations())
    if (const auto group = counts.groups.find(view(entry.getKey())); group != counts.groups.end())
      group->second.queued = entry.getValue();
}

std::string_view Applier::status_of(const std::string& key,
                                    JobReader job,
                                    bool evals_were_removed) const {
  if (is_running_until_stopped(job)) return job.getStop() ? "dead" : "running";
  const auto* found = t_.job_counts.find(key);
  const JobCounts counts = found != nullptr ? *found : JobCounts{};
  if (counts.live_allocs > 0) return "running";
  if (counts.live_evals > 0) return "pending";
  return evals_were_removed || !counts.empty() ? "dead" : "pending";
}

void Applier::settle_statuses() {
  for (const auto& [key, evals_were_removed] : touched_jobs_) {
    const auto* found = t_.jobs.find(key);
    if (found == nullptr) continue;
    const Object<schema::Job> job = *found;
    const std::string_view before = view(job->getStatus());
    const std::string_view after = status_of(key, *job, evals_were_removed);
    if (before == after) continue;
    Draft<schema::Job> draft{job};
    draft->setStatus(text(after));
    draft->setModifyIndex(index_);
    replace<kind::Jobs>(job, draft.freeze());
    count_child(*job, before, after);
  }
}

void Applier::settle_summaries() {
  for (const auto& [key, counts] : summaries_) {
    if (!counts.changed) continue;
    Draft<schema::JobSummary> draft;
    draft->setJobId(text(counts.job_id));
    draft->setNamespace(text(counts.ns));
    draft->setCreateIndex(counts.create_index);
    draft->setModifyIndex(index_);
    auto children = draft->initChildren();
    children.setPending(counts.pending_children);
    children.setRunning(counts.running_children);
    children.setDead(counts.dead_children);
    auto groups = draft->initSummary(static_cast<unsigned>(counts.groups.size()));
    unsigned next = 0;
    for (const auto& [name, group] : counts.groups) {
      auto entry = groups[next++];
      entry.setKey(text(name));
      auto value = entry.initValue();
      value.setQueued(group.queued);
      value.setComplete(group.complete);
      value.setFailed(group.failed);
      value.setRunning(group.running);
      value.setStarting(group.starting);
      value.setLost(group.lost);
      value.setUnknown(group.unknown);
    }
    put<kind::JobSummaries>(draft.freeze());
  }
}

}  // namespace nomad::state
