#include "runtime/scheduler/what_if.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/job_kind.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/scheduler/plan/plan_check.hpp"
#include "runtime/scheduler/plan/plan_command.hpp"
#include "runtime/scheduler/scheduler.hpp"

namespace nomad::scheduler {
namespace {

using Kind = Circumstance::Kind;
using state::Snapshot;

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t drain_deadline = 3600 * second;

bool runs_everywhere(schema::Job::Reader job) {
  return view(job.getType()) == "system" || view(job.getType()) == "sysbatch";
}

std::int64_t count_of(schema::Job::Reader job) {
  std::int64_t count = 0;
  for (const auto group : job.getTaskGroups())
    count += std::max<std::int64_t>(group.getCount(), 1);
  return count;
}

/// Those jobs that something changes for, the ones to be scheduled first in front.
class Concerned {
public:
  explicit Concerned(JobName planned) : planned_{planned} {}

  void add(const Object<schema::Job>& job) {
    if (!job || job->getStop() || job->hasPeriodic() || is_parameterized(*job)) return;
    const auto ns = view(job->getNamespace());
    const auto id = view(job->getId());
    if (ns == planned_.ns && id == planned_.id) return;
    jobs_.try_emplace({-job->getPriority(), std::string{ns}, std::string{id}}, job);
  }

  const auto& jobs() const { return jobs_; }

private:
  using Key = std::tuple<std::int64_t, std::string, std::string>;

  JobName planned_;
  std::map<Key, Object<schema::Job>> jobs_;
};

class Supposing {
public:
  Supposing(state::Store& store, std::int64_t now, std::string_view region, Random& random)
      : store_{store}, now_{now}, region_{region}, random_{random} {}

  Result<> put(const Circumstance& circumstance, Concerned& concerned) {
    const auto state = store_.snapshot();
    const auto node = state.node(circumstance.node_id);
    if (!node)
      return Error{Errc::not_found,
                   fmt::format("there is no node \"{}\" to suppose anything of: node status lists "
                               "those that there are",
                               circumstance.node_id)};
    if (circumstance.kind == Kind::add) return add(node, circumstance.count);
    std::vector<state::AllocRef> leaving;
    for (const auto& entry : state.allocs_by_node(circumstance.node_id)) {
      if (entry.value()->terminal()) continue;
      leaving.push_back(entry.value());
      concerned.add(state.job(entry.value()->alloc->ns(), entry.value()->alloc->job_id()));
    }
    return circumstance.kind == Kind::drain ? drain(node, leaving) : remove(node);
  }

  /// What takes room on nodes that were added: jobs that run on each, and those that wait.
  void concern_for_added(Concerned& concerned) const {
    if (added_ == 0) return;
    const auto state = store_.snapshot();
    for (const auto& entry : state.jobs())
      if (runs_everywhere(*entry.value())) concerned.add(entry.value());
    for (const auto& entry : state.evals())
      if (const auto& eval = entry.value(); eval->getStatus() == schema::EvalStatus::BLOCKED)
        concerned.add(state.job(view(eval->getNamespace()), view(eval->getJobId())));
  }

  /// What schedulers do with all of them.
  Result<OtherJobs> schedule(const Concerned& concerned) {
    OtherJobs others;
    std::int64_t wanted = 0;
    for (const auto& [key, job] : concerned.jobs()) {
      wanted += count_of(*job);
      if (others.scheduled == most_other_jobs || wanted > most_other_allocs) {
        ++others.left_out;
        continue;
      }
      if (const auto lacks_room = NOMAD_TRY(schedule(*job))) {
        ++others.scheduled;
        if (*lacks_room) ++others.without_room;
      } else {
        ++others.left_out;
      }
    }
    return others;
  }

private:
  template <class Fill>
  Result<> apply(const Fill& fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    return apply(draft.freeze());
  }

  Result<> apply(const Object<schema::Command>& command) {
    const auto outcome = store_.apply(store_.snapshot().index() + 1, *command);
    if (outcome.error) return *outcome.error;
    store_.publish();
    return {};
  }

  Result<> drain(const Object<schema::Node>& node, const std::vector<state::AllocRef>& leaving) {
    NOMAD_TRY(apply([&](schema::Command::Builder command) {
      auto entry = command.initNodeDrainUpdate();
      entry.setNodeId(node->getId());
      auto strategy = entry.initDrainStrategy();
      strategy.setDeadline(drain_deadline);
      strategy.setStartedAt(now_);
      entry.setUpdatedAt(now_ / second);
    }));
    if (leaving.empty()) return {};
    return apply([&](schema::Command::Builder command) {
      auto entries
          = command.initAllocTransition().initEntries(static_cast<unsigned>(leaving.size()));
      for (unsigned i = 0; i < entries.size(); ++i) {
        entries[i].setAllocId(text(leaving[i]->alloc->id()));
        entries[i].initTransition().getMigrate().setValue(true);
      }
    });
  }

  Result<> remove(const Object<schema::Node>& node) {
    return apply([&](schema::Command::Builder command) {
      auto entry = command.initNodeStatusUpdate();
      entry.setNodeId(node->getId());
      entry.setStatus(schema::NodeStatus::DOWN);
      entry.setUpdatedAt(now_ / second);
    });
  }

  /// Ready ones. What is unique to a node is not the new ones': it would match constraints.
  Result<> add(const Object<schema::Node>& like, std::uint32_t count) {
    if (count == 0 || count > most_added_nodes - added_)
      return Error{Errc::invalid_argument,
                   fmt::format("from 1 to {} nodes can be added in all, not {}", most_added_nodes,
                               std::uint64_t{added_} + count)};
    for (std::uint32_t i = 0; i < count; ++i)
      NOMAD_TRY(apply([&](schema::Command::Builder command) {
        fill_alike(command.initNodeRegister(), *like, ++added_);
      }));
    return {};
  }

  void fill_alike(schema::NodeRegister::Builder entry,
                  schema::Node::Reader like,
                  std::uint32_t number) {
    entry.setNode(like);
    auto node = entry.getNode();
    const auto name = fmt::format("{}-like-{}", view(like.getName()), number);
    node.setId(text(make_uuid(random_)));
    node.setName(text(name));
    node.disownDrainStrategy();
    node.disownLastDrain();
    node.disownEvents();
    node.setSchedulingEligibility(schema::SchedulingEligibility::ELIGIBLE);
    node.setStatus(schema::NodeStatus::READY);
    node.setStatusUpdatedAt(now_ / second);
    for (auto attribute : node.getAttributes())
      if (view(attribute.getKey()).starts_with("unique.")) attribute.setValue(text(name));
    node.setComputedClass(text(computed_class(node.asReader())));
  }

  /// Whether something of the job found no place; nothing if a plugin schedules it.
  Result<std::optional<bool>> schedule(schema::Job::Reader job) {
    const auto eval_id = make_uuid(random_);
    NOMAD_TRY(apply([&](schema::Command::Builder command) {
      auto eval = command.initEvalUpdate().initEvaluations(1)[0];
      eval.setId(text(eval_id));
      eval.setNamespace(job.getNamespace());
      eval.setPriority(job.getPriority());
      eval.setType(job.getType());
      eval.setTriggeredBy(schema::EvalTrigger::NODE_UPDATE);
      eval.setJobId(job.getId());
      eval.setJobModifyIndex(job.getJobModifyIndex());
      eval.setStatus(schema::EvalStatus::PENDING);
      eval.setCreateTime(now_);
      eval.setModifyTime(now_);
    }));
    auto state = store_.snapshot();
    const auto scheduler = make_scheduler(state.eval(eval_id), random_.next());
    if (scheduler == nullptr) return std::optional<bool>{};
    auto step = scheduler->start({state, now_, nullptr, region_});
    for (int steps = 0; step.plan && steps < most_steps; ++steps) {
      const VerifiedPlan verified{&*step.plan, check_plan(*step.plan, state, region_)};
      if (!verified.verdict.accepts_nothing)
        NOMAD_TRY(apply(make_plan_command({verified}, state, now_, random_)));
      state = store_.snapshot();
      step = scheduler->resume({state, now_, nullptr, region_},
                               make_plan_result(verified, state.index()));
    }
    if (step.question != nullptr) return std::optional<bool>{};
    return lacks_room(step, eval_id, state);
  }

  /// The evaluation, as the last step or the plan has completed it.
  static std::optional<bool> lacks_room(const Step& step,
                                        const std::string& eval_id,
                                        const Snapshot& state) {
    for (const auto& eval : step.evaluations)
      if (view(eval->getId()) == eval_id) return eval->getFailedTgAllocs().size() > 0;
    return state.eval(eval_id)->getFailedTgAllocs().size() > 0;
  }

  state::Store& store_;
  std::int64_t now_;
  std::string_view region_;
  Random& random_;
  std::uint32_t added_ = 0;
};

}  // namespace

Result<OtherJobs> suppose(state::Store& store,
                          std::span<const Circumstance> circumstances,
                          JobName planned,
                          std::int64_t now,
                          std::string_view region,
                          Random& random) {
  Supposing supposing{store, now, region, random};
  Concerned concerned{planned};
  for (const auto& circumstance : circumstances)
    NOMAD_TRY(supposing.put(circumstance, concerned));
  supposing.concern_for_added(concerned);
  return supposing.schedule(concerned);
}

}  // namespace nomad::scheduler
