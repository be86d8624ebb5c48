#include "test/properties/cluster.hpp"

#include <algorithm>
#include <array>

#include "runtime/base/ids.hpp"
#include "runtime/cluster/eval_factory.hpp"
#include "runtime/cluster/rollout.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {
namespace {

using schema::EvalStatus;

constexpr std::size_t most_works = 3;  ///< Of one worker at once.
constexpr std::size_t most_plans = 40;

std::string job_of(schema::Evaluation::Reader eval) {
  return copy(eval.getJobId());
}

bool helps(schema::Evaluation::Reader eval, std::string_view node_class) {
  if (eval.getEscapedComputedClass()) return true;
  for (const auto entry : eval.getClassEligibility())
    if (view(entry.getKey()) == node_class) return entry.getValue();
  return true;
}

/// The bytes that a step comes to, whatever made it.
std::string essence(const scheduler::Step& step, const state::Snapshot& state, std::int64_t now) {
  std::string all;
  const auto add = [&all](std::span<const std::byte> bytes) {
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  for (const auto& eval : step.evaluations)
    add(eval.bytes());
  if (!step.plan) return all;
  Random fixed{1};
  const std::vector<scheduler::VerifiedPlan> plans{{.plan = &*step.plan, .verdict = {}}};
  add(scheduler::make_plan_command(plans, state, now, fixed).bytes());
  return all;
}

}  // namespace

Cluster::Cluster(std::uint64_t seed, const Features& features, Checks& checks)
    : random{seed},
      features_{features},
      checks_{checks},
      workers_(features.has(Feature::several_workers) ? 3 : 1) {}

void Cluster::apply(const Object<schema::Command>& command) {
  require(offer(command), "commands are accepted",
          "number " + std::to_string(static_cast<int>(command->which())));
}

/// Returns whether it was accepted.
bool Cluster::offer(const Object<schema::Command>& command) {
  const auto outcome = store_.apply(++index_, *command);
  store_.publish();
  if (outcome.error) return false;
  deployments_changed_ = true;
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
    draft->setNodeId(row->alloc->getNodeId());
    draft->setClientStatus(report.status);
    draft->setModifyTime(now);
    const auto tasks = row->alloc->getAllocatedResources().getTasks();
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
      allocs.setWithCaveats(i, *objects[i]);
    auto list = update.initEvaluations(static_cast<unsigned>(evals.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.setWithCaveats(i, *evals[i]);
  });
}

// What waits, and what sets it free.

void Cluster::take(const state::Outcome& outcome) {
  const auto current = state();
  for (const auto& node : outcome.nodes_opened)
    unblock(view(node->getId()), view(node->getComputedClass()));
  for (const auto& id : outcome.nodes_freed)
    if (const auto node = current.node(id)) unblock(id, view(node->getComputedClass()));
  for (const auto& eval : outcome.evals)
    take(eval);
}

void Cluster::take(const Object<schema::Evaluation>& eval) {
  const auto id = copy(eval->getId());
  pending_.erase(id);
  blocked_.erase(id);
  if (eval->getStatus() == EvalStatus::PENDING) pending_.emplace(id, eval);
  if (eval->getStatus() == EvalStatus::BLOCKED) block(eval);
}

/// One of a job waits, and of a system job one for each node; older ones are cancelled.
void Cluster::block(const Object<schema::Evaluation>& eval) {
  std::vector<Object<schema::Evaluation>> cancelled;
  for (const auto& [id, other] : blocked_) {
    if (job_of(*other) != job_of(*eval) || view(other->getNodeId()) != view(eval->getNodeId()))
      continue;
    Draft<schema::Evaluation> draft{other};
    draft->setStatus(EvalStatus::CANCELED);
    cancelled.push_back(draft.freeze());
  }
  const auto seen = eval->getSnapshotIndex();
  bool missed = false;
  if (eval->getNodeId().size() > 0) {
    const auto change = node_changes_.find(view(eval->getNodeId()));
    missed = change != node_changes_.end() && change->second > seen;
  } else {
    for (const auto& [node_class, change] : class_changes_)
      missed = missed || (change > seen && helps(*eval, node_class));
  }
  (missed ? pending_ : blocked_).emplace(copy(eval->getId()), eval);
  write_evaluations(cancelled);
}

void Cluster::unblock(std::string_view node_id, std::string_view node_class) {
  class_changes_[std::string{node_class}] = index_;
  node_changes_[std::string{node_id}] = index_;
  std::erase_if(blocked_, [&](const auto& entry) {
    const auto& eval = entry.second;
    const bool freed = eval->getNodeId().size() > 0 ? view(eval->getNodeId()) == node_id
                                                    : helps(*eval, node_class);
    if (freed) pending_.emplace(entry.first, eval);
    return freed;
  });
}

bool Cluster::retry_failed() {
  return std::erase_if(blocked_,
                       [&](const auto& entry) {
                         const bool failed = entry.second->getTriggeredBy()
                                                 == schema::EvalTrigger::MAX_PLAN_ATTEMPTS
                                             && retried_.insert(entry.first).second;
                         if (failed) pending_.emplace(entry.first, entry.second);
                         return failed;
                       })
         > 0;
}

std::optional<std::int64_t> Cluster::next_due() const {
  std::optional<std::int64_t> next;
  for (const auto& [id, eval] : pending_)
    if (eval->getWaitUntil() > now) next = std::min(next.value_or(INT64_MAX), eval->getWaitUntil());
  return next;
}

bool Cluster::is_busy(std::string_view job_id) const {
  const auto is_of
      = [job_id](const auto& entry) { return view(entry.second.eval->getJobId()) == job_id; };
  return std::ranges::any_of(works_, is_of) || std::ranges::any_of(deferred_, is_of)
         || std::ranges::any_of(pending_, [&](const auto& entry) {
              return view(entry.second->getJobId()) == job_id
                     && entry.second->getWaitUntil() <= now;
            });
}

// The workers.

bool Cluster::dequeue() {
  std::vector<Object<schema::Evaluation>> ready;
  for (const auto& [id, eval] : pending_) {
    if (eval->getWaitUntil() > now) continue;
    const auto is_claimed = [&](const auto& entry) {
      return view(entry.second.eval->getJobId()) == view(eval->getJobId());
    };
    if (!std::ranges::any_of(works_, is_claimed) && !std::ranges::any_of(deferred_, is_claimed))
      ready.push_back(eval);
  }
  if (ready.empty()) return false;
  const auto worker = random.below(workers_.size());
  const auto busy = std::ranges::count_if(
      works_, [worker](const auto& entry) { return entry.second.worker == worker; });
  if (static_cast<std::size_t>(busy) >= most_works) return false;
  const auto best = std::ranges::max_element(ready, {}, [](const auto& eval) {
    return std::pair{eval->getPriority(), -static_cast<std::int64_t>(eval->getCreateIndex())};
  });
  pending_.erase(copy((*best)->getId()));
  Work work;
  work.eval = *best;
  work.token = "token-" + std::to_string(++tokens_);
  work.worker = worker;
  start(std::move(work));
  return true;
}

void Cluster::start(Work work) {
  const auto seed = random.next();
  work.scheduler = scheduler::make_scheduler(work.eval, seed);
  work.seen = state();
  const scheduler::Moment moment{work.seen, now, &workers_[work.worker]};
  auto step = work.scheduler->start(moment);
  if (random.chance(0.3)) {
    const auto again = scheduler::make_scheduler(work.eval, seed)->start(moment);
    require(essence(step, work.seen, now) == essence(again, work.seen, now),
            "equal input, equal plan", "evaluation of " + job_of(*work.eval));
  }
  proceed(std::move(work), std::move(step));
}

void Cluster::proceed(Work work, scheduler::Step step) {
  const auto token = work.token;
  if (step.lacks_room && !workers_[work.worker].empty()) {
    deferred_.emplace(token, std::move(work));
    return;
  }
  if (step.plan) {
    require(++work.plans <= most_plans, "evaluations come to an end",
            "evaluation of " + job_of(*work.eval) + " makes plan after plan");
    step.plan->eval_token = token;
    work.plan = std::make_shared<const scheduler::Plan>(std::move(*step.plan));
    checks_.on_plan(work, *work.plan);
    auto evals = work.plan->evaluations;
    if (work.plan->completion) evals.push_back(work.plan->completion);
    checks_.on_evaluations(work, evals);
    workers_[work.worker].add(work.plan);
    queue_.push_back(token);
    works_.insert_or_assign(token, std::move(work));
    return;
  }
  checks_.on_evaluations(work, step.evaluations);
  const auto job = job_of(*work.eval);
  works_.erase(token);
  write_evaluations(step.evaluations);
  settle(job);
}

/// The evaluation is acknowledged: of those that came meanwhile the newest is enough.
void Cluster::settle(const std::string& job_id) {
  ++done_;
  std::vector<Object<schema::Evaluation>> waiting;
  for (const auto& [id, eval] : pending_)
    if (job_of(*eval) == job_id && eval->getWaitUntil() <= now
        && eval->getStatus() == EvalStatus::PENDING)
      waiting.push_back(eval);
  std::ranges::sort(waiting, {}, [](const auto& eval) {
    return std::pair{eval->getPriority(), eval->getModifyIndex()};
  });
  std::vector<Object<schema::Evaluation>> cancelled;
  for (std::size_t i = 0; i + 1 < waiting.size(); ++i) {
    Draft<schema::Evaluation> draft{waiting[i]};
    draft->setStatus(EvalStatus::CANCELED);
    cancelled.push_back(draft.freeze());
  }
  write_evaluations(cancelled);
}

bool Cluster::resume() {
  const auto ready = std::ranges::find_if(
      works_, [](const auto& entry) { return entry.second.result.has_value(); });
  if (ready == works_.end()) return false;
  auto work = std::move(works_.extract(ready).mapped());
  const auto result = std::move(*work.result);
  work.result.reset();
  work.seen = state();
  auto step = work.scheduler->resume({work.seen, now, &workers_[work.worker]}, result);
  const auto worker = work.worker;
  proceed(std::move(work), std::move(step));
  restart_deferred(worker);
  return true;
}

void Cluster::restart_deferred(std::size_t worker) {
  while (workers_[worker].empty()) {
    const auto next = std::ranges::find_if(
        deferred_, [worker](const auto& entry) { return entry.second.worker == worker; });
    if (next == deferred_.end()) return;
    auto work = std::move(deferred_.extract(next).mapped());
    start(std::move(work));
  }
}

void Cluster::lose_work() {
  if (works_.empty()) return;
  auto chosen = works_.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(random.below(works_.size())));
  const auto token = chosen->first;
  // One whose plan is verified is settled by its entry.
  if (std::ranges::any_of(under_way_, [&](const auto& plan) { return plan.token == token; }))
    return;
  const auto work = std::move(works_.extract(chosen).mapped());
  std::erase(queue_, token);
  workers_[work.worker].remove(token);
  const auto eval = state().eval(view(work.eval->getId()));
  if (eval && !state::is_terminal(eval->getStatus())) pending_.emplace(copy(eval->getId()), eval);
  restart_deferred(work.worker);
}

// The applier.

state::Snapshot Cluster::basis() const {
  if (under_way_.empty()) return state();
  state::Store ahead{state()};
  auto index = index_;
  for (const auto& plan : under_way_)
    ahead.apply(++index, *plan.command);
  ahead.publish();
  return ahead.snapshot();
}

bool Cluster::verify() {
  if (queue_.empty()) return false;
  const auto best = std::ranges::max_element(
      queue_, {}, [this](const auto& token) { return works_.at(token).plan->priority; });
  const auto token = *best;
  queue_.erase(best);
  auto& work = works_.at(token);
  const auto state = basis();
  scheduler::VerifiedPlan verified{work.plan.get(), scheduler::check_plan(*work.plan, state)};
  if (verified.verdict.accepts_nothing) {
    workers_[work.worker].remove(token);
    work.result = scheduler::make_plan_result(verified, 0);
    work.result->refresh_index = index_;
    return true;
  }
  auto command = scheduler::make_plan_command({verified}, state, now, random);
  under_way_.push_back({work.plan, std::move(verified.verdict), std::move(command), token});
  return true;
}

bool Cluster::commit() {
  if (under_way_.empty()) return false;
  const auto plan = std::move(under_way_.front());
  under_way_.pop_front();
  const auto before = state();
  const auto outcome = store_.apply(++index_, *plan.command);
  store_.publish();
  require(!outcome.error, "commands are accepted", outcome.error ? outcome.error->what : "");
  deployments_changed_ = true;
  auto& work = works_.at(plan.token);
  workers_[work.worker].remove(plan.token);
  if (!outcome.plans.empty() && outcome.plans[0]) {  // refused: as if the worker had lost it
    const auto lost = std::move(works_.extract(plan.token).mapped());
    const auto eval = state().eval(view(lost.eval->getId()));
    if (eval && !state::is_terminal(eval->getStatus())) pending_.emplace(copy(eval->getId()), eval);
    restart_deferred(lost.worker);
    return true;
  }
  checks_.on_commit(plan, before, state());
  work.result = scheduler::make_plan_result({plan.plan.get(), plan.verdict}, index_);
  take(outcome);
  return true;
}

void Cluster::change_leader() {
  for (auto kept = random.below(under_way_.size() + 1); kept > 0; --kept)
    commit();
  under_way_.clear();
  queue_.clear();
  works_.clear();
  deferred_.clear();
  pending_.clear();
  blocked_.clear();
  class_changes_.clear();
  node_changes_.clear();
  for (auto& worker : workers_)
    worker = {};
  std::vector<Object<schema::Evaluation>> evals;
  const auto current = state();
  for (const auto& entry : current.evals())
    if (!state::is_terminal(entry.value()->getStatus())) evals.push_back(entry.value());
  // What waits for capacity may have missed some.
  for (const auto& eval : evals)
    pending_.emplace(copy(eval->getId()), eval);
}

// What watches.

bool Cluster::watch_deployments() {
  if (!deployments_changed_) return false;
  deployments_changed_ = false;
  std::vector<std::string> active;
  const auto current = state();
  for (const auto& entry : current.deployments())
    if (state::is_active(entry.value()->getStatus())) active.emplace_back(entry.key());
  bool acted = false;
  for (const auto& id : active) {
    const auto step = cluster::next_rollout_step(state(), id, {now, &random});
    if (step.command && offer(step.command)) acted = true;
  }
  return acted;
}

/// A simple drainer: everything that drains is asked to move, and a drain without anything ends.
bool Cluster::drain_nodes() {
  const auto current = state();
  for (const auto& entry : current.nodes()) {
    const auto node = *entry.value();
    if (!node.hasDrainStrategy()) continue;
    std::vector<state::AllocRef> moving;
    bool holds_any = false;
    std::set<std::string> jobs;
    for (const auto& there : current.allocs_by_node(view(node.getId()))) {
      const auto& row = there.value();
      if (row->terminal()) continue;
      holds_any = true;
      const auto migrate = row->alloc->getDesiredTransition().getMigrate();
      if (migrate.isValue() && migrate.getValue()) continue;
      moving.push_back(row);
      jobs.insert(copy(row->alloc->getJobId()));
    }
    if (holds_any && moving.empty()) continue;
    write([&](schema::Command::Builder command) {
      if (!holds_any) {
        command.initNodeDrainUpdate().setNodeId(node.getId());
        return;
      }
      auto entries
          = command.initAllocTransition().initEntries(static_cast<unsigned>(moving.size()));
      for (unsigned i = 0; i < entries.size(); ++i) {
        entries[i].setAllocId(moving[i]->alloc->getId());
        entries[i].initTransition().getMigrate().setValue(true);
      }
    });
    for (const auto& job : jobs)
      evaluate(job, schema::EvalTrigger::NODE_DRAIN);
    return true;
  }
  return false;
}

bool Cluster::work() {
  std::array<bool (Cluster::*)(), 6> kinds{
      &Cluster::dequeue,           &Cluster::verify,     &Cluster::commit, &Cluster::resume,
      &Cluster::watch_deployments, &Cluster::drain_nodes};
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
