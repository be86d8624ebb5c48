#include "test/properties/cluster.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "runtime/base/ids.hpp"
#include "runtime/cluster/eval_factory.hpp"
#include "test/mistakes/mistake.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {
namespace {

using schema::EvalStatus;

/// Some cases have plans cut after every few rows.
scheduler::PartLimits limits_of(std::uint64_t seed, const Features& features) {
  if (!features.has(Feature::parts) || seed / 3 % 3 != 0) return {};
  return {.part_bytes = 400 + seed / 9 % 5 * 700, .entry_bytes = 3'000};
}

cluster::BlockedEval blocked_of(schema::Evaluation::Reader eval, std::string token) {
  cluster::BlockedEval blocked;
  blocked.id = copy(eval.getId());
  blocked.ns = copy(eval.getNamespace());
  blocked.job_id = copy(eval.getJobId());
  blocked.type = copy(eval.getType());
  blocked.node_id = copy(eval.getNodeId());
  blocked.priority = static_cast<std::int32_t>(eval.getPriority());
  blocked.create_index = eval.getCreateIndex();
  blocked.modify_index = eval.getModifyIndex();
  blocked.snapshot_index = eval.getSnapshotIndex();
  blocked.escaped = eval.getEscapedComputedClass();
  blocked.max_plan_attempts = eval.getTriggeredBy() == schema::EvalTrigger::MAX_PLAN_ATTEMPTS;
  blocked.token = std::move(token);
  for (const auto entry : eval.getClassEligibility())
    (entry.getValue() ? blocked.eligible_classes : blocked.ineligible_classes)
        .push_back(copy(entry.getKey()));
  return blocked;
}

Object<schema::Evaluation> canceled(const Object<schema::Evaluation>& eval) {
  Draft<schema::Evaluation> draft{eval};
  draft->setStatus(EvalStatus::CANCELED);
  return draft.freeze();
}

}  // namespace

Cluster::Cluster(std::uint64_t seed, const Features& features, Checks& checks, Counts& counts)
    : random{seed},
      features_{features},
      checks_{checks},
      counts_{counts},
      part_limits_{limits_of(seed, features)},
      workers_(features.has(Feature::several_workers) ? 3 : 1) {}

void Cluster::apply(const Object<schema::Command>& command) {
  require(offer(command), property::commands_accepted,
          "number " + std::to_string(static_cast<int>(command->which())));
}

/// Returns whether it was accepted.
bool Cluster::offer(const Object<schema::Command>& command) {
  const auto outcome = store_.apply(++index_, *command);
  store_.publish();
  if (outcome.error) return false;
  take(outcome);
  return true;
}

void Cluster::write_evaluations(const std::vector<Object<schema::Evaluation>>& evaluations) {
  if (evaluations.empty()) return;
  write([&](schema::Command::Builder command) {
    auto list = command.initEvalUpdate().initEvaluations(static_cast<unsigned>(evaluations.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.setWithCaveats(i, *evaluations[i]);
  });
}

void Cluster::evaluate(const std::string& job_id, schema::EvalTrigger trigger) {
  const cluster::EvalSeed seed{now, &random};
  const auto job = state().job("default", job_id);
  write_evaluations({job ? cluster::eval_for_job(*job, trigger, seed)
                         : cluster::eval_for_unknown_job("default", job_id, trigger, seed)});
}

void Cluster::evaluate_node(const std::string& node_id) {
  write_evaluations(cluster::evals_for_node(state(), node_id, {now, &random}));
}

void Cluster::report(const std::vector<Report>& reports) {
  if (reports.empty()) return;
  std::vector<Object<schema::Allocation>> objects;
  for (const auto& report : reports) {
    const auto row = state().alloc(report.alloc_id);
    Draft<schema::Allocation> draft;
    draft->setId(text(report.alloc_id));
    draft->setNodeId(text(row->alloc->node_id()));
    draft->setClientStatus(report.status);
    draft->setModifyTime(now);
    const auto tasks = row->alloc->resources().getTasks();
    auto states = draft->initTaskStates(tasks.size());
    const bool failed = report.status == schema::ClientStatus::FAILED;
    const bool ended = failed || report.status == schema::ClientStatus::COMPLETE;
    for (unsigned i = 0; i < states.size(); ++i) {
      states[i].setKey(tasks[i].getKey());
      auto state = states[i].initValue();
      state.setState(ended ? schema::TaskRunState::DEAD : schema::TaskRunState::RUNNING);
      state.setFailed(failed);
      if (ended) state.setFinishedAt(now);
    }
    if (report.healthy) {
      auto health = draft->initDeploymentStatus();
      health.getHealthy().setValue(*report.healthy);
      health.setTimestamp(now);
    }
    objects.push_back(draft.freeze());
  }
  const auto evals = cluster::evals_for_reports(state(), objects, {now, &random});
  write([&](schema::Command::Builder command) {
    auto update = command.initAllocClientUpdate();
    auto allocs = update.initAllocations(static_cast<unsigned>(objects.size()));
    for (unsigned i = 0; i < allocs.size(); ++i)
      allocs.setWithCaveats(i, objects[i].reader());
    auto list = update.initEvaluations(static_cast<unsigned>(evals.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.setWithCaveats(i, *evals[i]);
  });
}

// The broker, as the actor of that name leads its queue.

std::int64_t Cluster::due_at(schema::Evaluation::Reader eval) const {
  const auto waits = eval.getWait() > 0 ? eval.getCreateTime() + eval.getWait() : 0;
  return std::max<std::int64_t>(eval.getWaitUntil(), waits);
}

cluster::EvalEntry Cluster::entry_of(schema::Evaluation::Reader eval) const {
  cluster::EvalEntry entry{.id = copy(eval.getId()),
                           .ns = copy(eval.getNamespace()),
                           .job_id = copy(eval.getJobId()),
                           .type = copy(eval.getType()),
                           .priority = static_cast<std::int32_t>(eval.getPriority()),
                           .create_index = eval.getCreateIndex(),
                           .modify_index = eval.getModifyIndex()};
  if (const auto due = due_at(eval); due > now)
    entry.not_before = cluster::TimePoint{std::chrono::nanoseconds{due}};
  return entry;
}

void Cluster::take(const state::Outcome& outcome) {
  deployments_changed_ = true;
  drains_changed_ = true;
  reap_is_due_ = true;
  for (const auto& [ns, job] : outcome.jobs_stopped)
    blocked_.untrack(ns, job);
  for (const auto& eval : outcome.evals)
    track(eval);
  const auto free = [&](std::string_view id, std::string_view node_class) {
    if (test::mistake == test::Mistake::deaf_broker) return;
    release(blocked_.unblock_class(node_class, outcome.index));
    release(blocked_.unblock_node(id, outcome.index));
  };
  for (const auto& quota : outcome.quotas_opened)
    release(blocked_.unblock_quota(quota, outcome.index));
  for (const auto& node : outcome.nodes_opened)
    free(view(node->getId()), view(node->getComputedClass()));
  for (const auto& id : outcome.nodes_freed)
    if (const auto node = state().node(id)) free(id, view(node->getComputedClass()));
}

void Cluster::track(const Object<schema::Evaluation>& eval) {
  switch (eval->getStatus()) {
    case EvalStatus::PENDING:
      return queue_.enqueue(entry_of(*eval), time());
    case EvalStatus::BLOCKED: {
      ++counts_.blocked;
      const std::string token{queue_.outstanding(view(eval->getId())).value_or("")};
      if (auto missed = blocked_.block(blocked_of(*eval, token))) {
        ++counts_.missed_unblocks;
        std::vector<cluster::BlockedEval> free;
        free.push_back(std::move(*missed));
        release(std::move(free));
      }
      return;
    }
    case EvalStatus::COMPLETE:
      if (eval->getFailedTgAllocs().size() == 0)
        blocked_.untrack(view(eval->getNamespace()), view(eval->getJobId()));
      return;
    case EvalStatus::FAILED:
    case EvalStatus::CANCELED:
      return;
  }
}

void Cluster::release(std::vector<cluster::BlockedEval> free) {
  for (auto& eval : free) {
    ++counts_.unblocked;
    released_.insert(eval.id);
    queue_.enqueue({.id = eval.id,
                    .ns = eval.ns,
                    .job_id = eval.job_id,
                    .type = eval.type,
                    .priority = eval.priority,
                    .create_index = eval.create_index,
                    .modify_index = eval.modify_index},
                   time(), eval.token);
  }
}

/// Takes in what the state holds, and what may have grown while somebody else led.
void Cluster::establish() {
  queue_.clear();
  blocked_.clear();
  released_.clear();
  const auto current = state();
  std::vector<Object<schema::Evaluation>> open;
  auto oldest = std::numeric_limits<std::uint64_t>::max();
  for (const auto& entry : current.evals()) {
    const auto& eval = entry.value();
    if (state::is_terminal(eval->getStatus())) continue;
    open.push_back(eval);
    if (eval->getStatus() == EvalStatus::BLOCKED)
      oldest = std::min<std::uint64_t>(oldest, eval->getSnapshotIndex());
  }
  const auto note = [&](const Object<schema::Node>& node, std::uint64_t index) {
    if (index > oldest)
      blocked_.note_change(view(node->getComputedClass()), view(node->getId()), index);
  };
  for (const auto& entry : current.nodes())
    note(entry.value(), entry.value()->getModifyIndex());
  for (const auto& entry : current.allocs())
    if (entry.value()->client_terminal)
      if (const auto node = current.node(entry.value()->alloc->node_id()))
        note(node, entry.value()->alloc->modify_index());
  for (const auto& eval : open)
    track(eval);
}

/// Ends what needs no worker: superseded ones, duplicates, what was delivered too often.
bool Cluster::reap() {
  if (!std::exchange(reap_is_due_, false)) return false;
  const auto current = state();
  std::vector<Object<schema::Evaluation>> ended;
  const auto cancel = [&](const std::string& id) {
    const auto eval = current.eval(id);
    if (eval && eval->getStatus() != EvalStatus::COMPLETE) ended.push_back(canceled(eval));
  };
  for (const auto& entry : queue_.take_cancelable(100))
    cancel(entry.id);
  for (const auto& id : blocked_.take_duplicates(100))
    cancel(id);
  static const std::vector<std::string> failed{std::string{cluster::EvalQueue::failed_queue}};
  while (const auto delivery = queue_.dequeue(failed, time(), random)) {
    const auto eval = current.eval(delivery->eval.id);
    if (eval && !state::is_terminal(eval->getStatus())) {
      ++counts_.too_many_deliveries;
      const auto id = make_uuid(random);
      Draft<schema::Evaluation> draft{eval};
      draft->setStatus(EvalStatus::FAILED);
      draft->setNextEval(text(id));
      ended.push_back(draft.freeze());
      Draft<schema::Evaluation> next{eval};
      next->setId(text(id));
      next->setTriggeredBy(schema::EvalTrigger::FAILED_FOLLOW_UP);
      next->setStatus(EvalStatus::PENDING);
      next->setWait(static_cast<std::int64_t>(60 + random.below(300)) * second);
      next->setPreviousEval(eval->getId());
      next->setCreateTime(now);
      next->setCreateIndex(0);
      next->disownFailedTgAllocs();
      ended.push_back(next.freeze());
    }
    static_cast<void>(queue_.ack(delivery->eval.id, delivery->token, time()));
  }
  if (ended.empty()) return false;
  write_evaluations(ended);
  return true;
}

bool Cluster::advance() {
  const auto deadline = queue_.next_deadline();
  if (!deadline || *deadline > time()) return false;
  counts_.expired_deliveries += queue_.advance(time()).size();
  reap_is_due_ = true;
  return true;
}

bool Cluster::retry_failed() {
  bool found = false;
  const auto current = state();
  for (const auto& entry : current.evals()) {
    const auto eval = *entry.value();
    found = found
            || (eval.getStatus() == EvalStatus::BLOCKED
                && eval.getTriggeredBy() == schema::EvalTrigger::MAX_PLAN_ATTEMPTS
                && !retried_.contains(std::string{entry.key()}));
  }
  if (!found) return false;
  auto free = blocked_.unblock_failed();
  for (const auto& eval : free)
    retried_.insert(eval.id);
  release(std::move(free));
  return true;
}

std::optional<std::int64_t> Cluster::next_due() const {
  std::optional<std::int64_t> next;
  const auto consider = [&](std::optional<std::int64_t> due) {
    if (due && *due > now) next = std::min(next.value_or(INT64_MAX), *due);
  };
  if (const auto deadline = queue_.next_deadline())
    consider(std::chrono::nanoseconds{deadline->time_since_epoch()}.count());
  consider(deployments_due_);
  consider(drains_due_);
  return next;
}

bool Cluster::is_busy(std::string_view job_id) const {
  if (std::ranges::any_of(works_, [job_id](const auto& entry) {
        return view(entry.second.eval->getJobId()) == job_id;
      }))
    return true;
  const auto current = state();
  for (const auto& entry : current.evals_by_job("default", job_id, EvalStatus::PENDING))
    if (due_at(*entry.value()) <= now) return true;
  // One that was woken is blocked by its row until it has been decided; newer ones gave way to it.
  for (const auto& entry : current.evals_by_job("default", job_id, EvalStatus::BLOCKED))
    if (released_.contains(copy(entry.value()->getId()))) return true;
  return false;
}

bool Cluster::waits(std::string_view job_id, bool gave_up) const {
  const auto current = state();
  for (const auto& entry : current.evals_by_job("default", job_id, EvalStatus::BLOCKED))
    if (!gave_up || entry.value()->getTriggeredBy() == schema::EvalTrigger::MAX_PLAN_ATTEMPTS)
      return true;
  return false;
}

void Cluster::write_some() {
  for (auto written = random.below(under_way_.size() + 1); written > 0; --written)
    commit();
}

void Cluster::change_leader(bool same_server) {
  write_some();
  ++(same_server ? counts_.flaps : counts_.leader_changes);
  if (!same_server) {
    works_.clear();
    held_ = {};
    for (auto& worker : workers_)
      worker = {};
  }
  establish();
  lose_plans();
  drain_commands_.clear();
  drained_jobs_.clear();
  deployments_changed_ = drains_changed_ = reap_is_due_ = true;
}

bool Cluster::work() {
  std::array<bool (Cluster::*)(), 8> kinds{&Cluster::dequeue,
                                           &Cluster::verify,
                                           &Cluster::commit,
                                           &Cluster::resume,
                                           &Cluster::reap,
                                           &Cluster::advance,
                                           &Cluster::watch_deployments,
                                           &Cluster::drain_nodes};
  auto at = random.below(kinds.size());
  for (std::size_t tried = 0; tried < kinds.size(); ++tried, at = (at + 1) % kinds.size())
    if ((this->*kinds[at])()) return true;
  return false;
}

bool Cluster::work_off(std::size_t most) {
  for (std::size_t done = 0; done < most; ++done)
    if (!work()) return true;
  return false;
}

}  // namespace nomad::properties
