#include "actors/server/plan_applier.hpp"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "actors/core/supervise.hpp"
#include "actors/roles/no_leader.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/guard.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/eval_factory.hpp"
#include "runtime/cluster/plan_queue.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/plan_command.hpp"
#include "runtime/scheduler/plan/plans_ahead.hpp"

namespace nomad::server {
namespace {

using plan_applier::PlanApplied;
using plan_applier::SubmitPlan;

/// Deal with the next plan of the queue.
struct Next {
  using is_message = void;
};

/// The gauges are due.
struct ShowPlanGauges {
  using is_message = void;
};

using ApplierSelf = actor::WithInternal<PlanApplier, void(Next), void(ShowPlanGauges)>;

/// Plans that may wait here; the workers' own bounds keep far below.
constexpr std::size_t most_waiting = 4096;

struct ApplierState {
  static constexpr const char* name = "plan_applier";

  using Self = ApplierSelf::stateful_pointer<ApplierState>;

  using TimePoint = std::chrono::steady_clock::time_point;

  /// A plan of which at least one part is not written.
  struct Waiting {
    scheduler::PlanParts plan;
    actor::Promise<PlanApplied> promise;
    TimePoint since;
  };

  using Waits = std::shared_ptr<Waiting>;

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  PlanApplierOptions options;
  Random random{0};
  cluster::PlanQueue<Waits> queue;
  std::vector<Waits> parked;  ///< Until something under way is settled.
  cluster::RejectedNodes rejected_nodes;
  scheduler::PlansAhead ahead{""};
  std::uint64_t term = 0;  ///< Counts changes of leadership.
  state::Index since = 0;  ///< Of the state that this leadership began with.
  bool knows_all = true;   ///< Nothing is under way that it does not know of.

  /// Until what it had under way when it began anew is settled, a plan could take what another has
  /// taken.
  void await_log() {
    knows_all = false;
    writes->when_settled([this] {
      knows_all = true;
      if (!queue.empty()) self->send(ApplierSelf{self}, Next{});
    });
  }

  void enqueue(const Waits& waiting) {
    const auto was_empty = queue.empty();
    queue.push(static_cast<std::int32_t>(waiting->plan.whole().priority), waiting);
    if (was_empty) self->send(ApplierSelf{self}, Next{});
  }

  /// What waits was decided by order of a leadership that is over.
  void lead() {
    ++term;
    since = store->snapshot().index();
    ahead.forget_state();
    for (const auto& waiting : queue.drain())
      waiting->promise.deliver(no_leader());
    for (const auto& waiting : std::exchange(parked, {}))
      waiting->promise.deliver(no_leader());
  }

  void next() {
    if (!knows_all) return;
    const auto first = queue.pop();
    if (!first) return;
    const auto& waiting = *first;
    if (!queue.empty()) self->send(ApplierSelf{self}, Next{});
    const auto begun = self->now();
    Result<> outcome;
    try {
      outcome = apply(waiting);
    } catch (...) {  // a bad plan must not end what serves all others
      outcome = thrown_now();
    }
    options.metrics->measure("plan.evaluate", self->now() - begun);
    if (!outcome) waiting->promise.deliver(outcome.error());
  }

  /// Verifies what is next of the plan and proposes what fits. An error is the plan's end.
  Result<> apply(const Waits& waiting) {
    const auto begun = self->now();
    auto newest = store->snapshot();
    options.metrics->measure("plan.wait_for_index", self->now() - begun);
    auto [found, is_open, state] = ahead.judge(waiting->plan, std::move(newest));
    if (is_open) {
      parked.push_back(waiting);
      return {};
    }
    const auto verdict = NOMAD_TRY(found);
    note_rejections(waiting->plan.whole(), verdict);
    if (verdict.accepts_nothing) {
      auto result = scheduler::make_plan_result({&waiting->plan.next(), verdict}, 0);
      result.refresh_index = store->snapshot().index();
      settle(waiting, result);
      return {};
    }
    const auto command = scheduler::make_plan_command({{&waiting->plan.next(), verdict}}, state,
                                                      unix_now(), random);
    write(waiting, verdict, command, ahead.add(command));
    return {};
  }

  void note_rejections(const scheduler::Plan& plan, const scheduler::PlanVerdict& verdict) {
    for (const auto& [node, why] : verdict.rejected_nodes) {
      log::info("plan", "the plan is rejected for a node",
                {{"eval", plan.eval_id}, {"node", node}, {"error", why}});
      if (verdict.over_quota.contains(node)) continue;
      options.metrics->count_rejected(node);
      if (!rejected_nodes.add(node, self->now())) continue;
      log::warn("plan", "plans were rejected too often for the node: it becomes ineligible",
                {{"node", node}});
      writes->propose(cluster::take_out_rejected(node, unix_now()),
                      [node = node](const Result<Committed>& done) {
                        if (!done)
                          log::warn("plan", "the node could not be made ineligible",
                                    {{"node", node}, {"error", done.error()}});
                      });
    }
  }

  void write(const Waits& waiting,
             const scheduler::PlanVerdict& verdict,
             const Object<schema::Command>& command,
             std::uint64_t number) {
    const auto begun = self->now();
    const auto then = [this, waiting, verdict, number, begun,
                       proposed_in = term](const Result<Committed>& committed) {
      const auto refused = why_refused(committed);
      ahead.settle(number, !refused);
      for (const auto& other : std::exchange(parked, {}))
        enqueue(other);
      options.metrics->measure("plan.apply", self->now() - begun);
      if (refused) return waiting->promise.deliver(*refused);
      evaluate_strays(waiting->plan.next(), verdict);
      const auto result
          = scheduler::make_plan_result({&waiting->plan.next(), verdict}, committed->index);
      if (proposed_in != term && waiting->plan.is_cut())
        return waiting->promise.deliver(no_leader());  // the rest is of a leadership that is over
      settle(waiting, result);
    };
    writes->propose(command, then);
  }

  /// The job is looked at once more if a node went while what it got there was under way.
  void evaluate_strays(const scheduler::Plan& plan, const scheduler::PlanVerdict& verdict) {
    if (!plan.job || !scheduler::has_strays(plan, verdict, store->snapshot())) return;
    Draft<schema::Command> draft;
    const auto eval
        = cluster::eval_for_job(*plan.job, schema::EvalTrigger::NODE_UPDATE, {unix_now(), &random});
    draft->initEvalUpdate().initEvaluations(1).setWithCaveats(0, *eval);
    writes->propose(draft.freeze(), [eval](const Result<Committed>& done) {
      if (!done)
        log::warn("plan", "the job could not be evaluated though one of its nodes has gone",
                  {{"job", view(eval->getJobId())}, {"error", done.error()}});
    });
  }

  static std::optional<Error> why_refused(const Result<Committed>& committed) {
    if (!committed) return committed.error();
    const auto& plans = committed->outcome->plans;
    return plans.empty() ? std::nullopt : plans.front();
  }

  /// What was next of the plan is over: the rest has its turn, or who waits is answered.
  void settle(const Waits& waiting, const scheduler::PlanResult& result) {
    waiting->plan.settle(result);
    if (!waiting->plan.is_done()) return enqueue(waiting);
    options.metrics->measure("plan.submit", self->now() - waiting->since);
    waiting->promise.deliver(PlanApplied{waiting->plan.result()});
  }

  void show_gauges() {
    std::vector<telemetry::ServerMetrics::Gauge> gauges{
        {"plan.queue_depth", static_cast<double>(queue.size())}};
    for (const auto& [node, score] : rejected_nodes.scores(self->now()))
      gauges.push_back(
          {"plan.rejection_tracker.node_score", static_cast<double>(score), {{"node_id", node}}});
    options.metrics->show("plan_applier", std::move(gauges));
    actor::send_self_after(self, telemetry::ServerMetrics::gauge_interval, ShowPlanGauges{});
  }
};

ApplierSelf::behavior_type plan_applier_actor(ApplierState::Self self,
                                              std::shared_ptr<state::Store> store,
                                              raft::Proposer proposer,
                                              std::uint64_t random_seed,
                                              PlanApplierOptions options) {
  auto& state = self->state;
  state.self = self;
  state.store = std::move(store);
  state.writes.emplace(self, std::move(proposer), access::own_work("plan_applier"));
  state.random = Random{self->seed(random_seed)};
  state.rejected_nodes = cluster::RejectedNodes{options.rejected_nodes};
  state.ahead = scheduler::PlansAhead{options.region};
  state.options = std::move(options);
  state.show_gauges();
  if (self->began_again()) state.await_log();

  return {
      [self](const SubmitPlan& msg) -> actor::Answer<PlanApplied> {
        // Of a worker that has not heard yet: somebody else may work on the same job by now.
        if (msg.plan->snapshot_index < self->state.since) return no_leader();
        if (self->state.queue.size() >= most_waiting)
          return Error{Errc::overloaded, "too many plans are waiting"};
        auto promise = self->make_response_promise<PlanApplied>();
        auto& state = self->state;
        state.enqueue(std::make_shared<ApplierState::Waiting>(ApplierState::Waiting{
            scheduler::PlanParts{msg.plan, state.options.parts}, promise, self->now()}));
        return promise;
      },
      [self](Lead) { self->state.lead(); },
      [self](Next) { self->state.next(); },
      [self](ShowPlanGauges) { self->state.show_gauges(); },
  };
}

}  // namespace

PlanApplier spawn_plan_applier(const actor::Owner& owner,
                               std::shared_ptr<state::Store> store,
                               raft::Proposer proposer,
                               std::uint64_t random_seed,
                               PlanApplierOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, plan_applier_actor, std::move(store),
                                              std::move(proposer), random_seed, std::move(options));
}

}  // namespace nomad::server
