#include "runtime/scheduler/dry_run.hpp"

#include <utility>

#include "runtime/base/ids.hpp"
#include "runtime/base/random.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/state/store.hpp"

namespace nomad::scheduler {
namespace {

void fill_eval(schema::Evaluation::Builder eval,
               schema::Job::Reader job,
               std::string_view id,
               std::int64_t now) {
  eval.setId(text(id));
  eval.setNamespace(job.getNamespace());
  eval.setPriority(job.getPriority());
  eval.setType(job.getType());
  eval.setTriggeredBy(schema::EvalTrigger::JOB_REGISTER);
  eval.setJobId(job.getId());
  eval.setJobModifyIndex(job.getJobModifyIndex());
  eval.setStatus(schema::EvalStatus::PENDING);
  eval.setAnnotatePlan(true);
  eval.setCreateTime(now);
  eval.setModifyTime(now);
}

Object<schema::Command> register_command(schema::Job::Reader job,
                                         bool is_changed,
                                         std::string_view eval_id,
                                         std::int64_t now) {
  Draft<schema::Command> draft;
  if (is_changed) {
    auto entry = draft->initJobRegister();
    entry.setJob(job);
    fill_eval(entry.initEvaluation(), job, eval_id, now);
  } else {
    fill_eval(draft->initEvalUpdate().initEvaluations(1)[0], job, eval_id, now);
  }
  return draft.freeze();
}

}  // namespace

class DryRunUnderWay::Core {
public:
  Core(const state::Snapshot& snapshot,
       std::int64_t now,
       std::uint64_t seed,
       std::string_view region)
      : store_{snapshot}, now_{now}, random_{seed}, region_{region} {}

  Result<> suppose(std::span<const Circumstance> circumstances, const Object<schema::Job>& job) {
    const JobName planned{view(job->getNamespace()), view(job->getId())};
    result_.others
        = NOMAD_TRY(scheduler::suppose(store_, circumstances, planned, now_, region_, random_));
    return {};
  }

  Result<> begin(const Object<schema::Job>& job, bool is_changed) {
    const auto before = store_.snapshot();
    result_.stored = before.job(view(job->getNamespace()), view(job->getId()));
    if (result_.stored) result_.job_modify_index = result_.stored->getJobModifyIndex();
    eval_id_ = make_uuid(random_);
    const bool registers = is_changed || !result_.stored;
    const auto scheduled = registers ? *job : *result_.stored;
    const auto command = register_command(scheduled, registers, eval_id_, now_);
    const auto outcome = store_.apply(before.index() + 1, *command);
    if (outcome.error) return *outcome.error;
    store_.publish();
    ahead_ = store_.snapshot();
    scheduler_ = make_scheduler(ahead_.eval(eval_id_), random_.next());
    if (scheduler_ == nullptr)
      return Error{Errc::rejected, "unknown job type \"" + copy(job->getType()) + '"'};
    go_on(scheduler_->start(moment()));
    return {};
  }

  const Question* question() const { return question_; }

  Result<> answer(const Object<schema::plugin::Decision>& decision) {
    if (question_ == nullptr) return Error{Errc::internal, "the dry run has asked nothing"};
    go_on(NOMAD_TRY(std::exchange(question_, nullptr)->answer(decision)));
    return {};
  }

  DryRun take() {
    for (const auto& [group, updates] : scheduler_->desired_updates())
      result_.desired_updates.emplace_back(group, updates);
    return std::move(result_);
  }

private:
  Moment moment() const { return {ahead_, now_, nullptr, region_}; }

  /// Takes every plan as if it had been written whole, until the end, or a question.
  void go_on(Step step) {
    while (step.plan && steps_++ < most_steps) {
      auto evals = step.plan->evaluations;
      if (step.plan->completion) evals.push_back(step.plan->completion);
      collect(evals);
      for (const auto& [node, changes] : step.plan->nodes) {
        for (const auto& stop : changes.preemptions)
          result_.preempted.push_back(stop.alloc);
        for (const auto& placement : changes.placements)
          if (placement.is_new) count(node, *placement.row);
      }
      PlanResult accepted;
      accepted.made_progress = true;
      accepted.completion_written = static_cast<bool>(step.plan->completion);
      step = scheduler_->resume(moment(), accepted);
    }
    question_ = steps_ < most_steps ? step.question : nullptr;
    collect(step.evaluations);
  }

  void count(const std::string& node, AllocView placed) {
    auto& there = result_.placed[std::string{placed.task_group()}][node];
    if (const auto known = ahead_.node(node)) there.node_name = view(known->getName());
    ++there.count;
  }

  /// Sorts what the run would write into what `job plan` shows.
  void collect(const std::vector<Object<schema::Evaluation>>& evals) {
    for (const auto& eval : evals) {
      if (view(eval->getId()) != eval_id_) {
        result_.created_evals.push_back(eval);
        continue;
      }
      for (const auto entry : eval->getFailedTgAllocs())
        result_.failed_groups.emplace_back(copy(entry.getKey()),
                                           Object<schema::AllocMetric>::freeze(entry.getValue()));
    }
  }

  state::Store store_;
  std::int64_t now_;
  Random random_;
  std::string region_;
  std::string eval_id_;
  state::Snapshot ahead_;
  std::unique_ptr<Scheduler> scheduler_;
  Question* question_ = nullptr;  ///< Of the scheduler.
  int steps_ = 0;
  DryRun result_;
};

DryRunUnderWay::DryRunUnderWay(std::unique_ptr<Core> core) : core_{std::move(core)} {}

DryRunUnderWay::DryRunUnderWay(DryRunUnderWay&&) noexcept = default;
DryRunUnderWay& DryRunUnderWay::operator=(DryRunUnderWay&&) noexcept = default;
DryRunUnderWay::~DryRunUnderWay() = default;

Result<DryRunUnderWay> DryRunUnderWay::begin(const state::Snapshot& snapshot,
                                             const Object<schema::Job>& job,
                                             bool is_changed,
                                             std::int64_t now,
                                             std::uint64_t seed,
                                             std::string_view region,
                                             std::span<const Circumstance> circumstances) {
  auto core = std::make_unique<Core>(snapshot, now, seed, region);
  if (!circumstances.empty()) NOMAD_TRY(core->suppose(circumstances, job));
  NOMAD_TRY(core->begin(job, is_changed));
  return DryRunUnderWay{std::move(core)};
}

const Question* DryRunUnderWay::question() const {
  return core_->question();
}

Result<> DryRunUnderWay::answer(const Object<schema::plugin::Decision>& decision) {
  return core_->answer(decision);
}

DryRun DryRunUnderWay::take() && {
  return core_->take();
}

Result<DryRun> dry_run(const state::Snapshot& snapshot,
                       const Object<schema::Job>& job,
                       bool is_changed,
                       std::int64_t now,
                       std::uint64_t seed,
                       std::string_view region,
                       std::span<const Circumstance> circumstances) {
  return NOMAD_TRY(
             DryRunUnderWay::begin(snapshot, job, is_changed, now, seed, region, circumstances))
      .take();
}

}  // namespace nomad::scheduler
