#include "actors/server/plan_applier.hpp"

#include <map>
#include <optional>

#include "actors/core/supervise.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/plan_queue.hpp"
#include "runtime/scheduler/plan/plan_check.hpp"
#include "runtime/scheduler/plan/plan_command.hpp"

namespace nomad::server {
namespace {

using plan_applier::PlanApplied;
using plan_applier::SubmitPlan;

/// Deal with the next plan of the queue.
struct Next {
  using is_message = void;
};

using ApplierSelf = actor::WithInternal<PlanApplier, void(Next), void(WriteDone)>;

/// Plans verified against one continuation of the state before it is made anew.
constexpr std::size_t most_speculative = 64;

/// Plans that may wait here; the workers' own bounds keep far below.
constexpr std::size_t most_waiting = 4096;

struct ApplierState {
  static constexpr const char* name = "plan_applier";

  using Self = ApplierSelf::stateful_pointer<ApplierState>;

  struct Waiting {
    std::shared_ptr<const scheduler::Plan> plan;
    actor::Promise<PlanApplied> promise;
  };

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  Random random{0};
  cluster::PlanQueue<Waiting> queue;
  std::map<std::uint64_t, Object<schema::Command>> under_way;  ///< By order of proposal.
  std::uint64_t next_order = 1;
  std::unique_ptr<state::Store> continuation;  ///< The state with all that is under way.
  std::size_t verified_on_it = 0;
  bool knows_all = true;  ///< Nothing is under way that it does not know of.

  /// Until what it had under way when it began anew is settled, a plan could take what another has
  /// taken.
  void await_log() {
    knows_all = false;
    writes->when_settled<ApplierSelf>(self, [this] {
      knows_all = true;
      if (!queue.empty()) self->send(ApplierSelf{self}, Next{});
    });
  }

  void submit(Waiting waiting) {
    const auto was_empty = queue.empty();
    const auto priority = static_cast<std::int32_t>(waiting.plan->priority);
    queue.push(priority, std::move(waiting));
    if (was_empty) self->send(ApplierSelf{self}, Next{});
  }

  /// The state to verify against: the published one, or with what is under way.
  state::Snapshot basis() {
    if (under_way.empty()) {
      continuation.reset();
      return store->snapshot();
    }
    if (!continuation || verified_on_it >= most_speculative) {
      continuation = std::make_unique<state::Store>(store->snapshot());
      verified_on_it = 0;
      for (const auto& [order, command] : under_way)
        apply_ahead(command);
    }
    ++verified_on_it;
    return continuation->snapshot();
  }

  void apply_ahead(const Object<schema::Command>& command) {
    const auto index = continuation->snapshot().index() + 1;
    continuation->apply(index, *command);
    continuation->set_applied(index);
    continuation->publish();
  }

  void next() {
    if (!knows_all) return;
    auto waiting = queue.pop();
    if (!waiting) return;
    if (!queue.empty()) self->send(ApplierSelf{self}, Next{});
    auto state = basis();
    scheduler::VerifiedPlan verified{waiting->plan.get(),
                                     scheduler::check_plan(*waiting->plan, state)};
    if (!verified.verdict.rejected_nodes.empty() && continuation) {
      // What was freed since the continuation was made is not in it: look once more.
      continuation.reset();
      state = basis();
      verified.verdict = scheduler::check_plan(*waiting->plan, state);
    }
    for (const auto& [node, why] : verified.verdict.rejected_nodes)
      log::info("plan_applier", "plan for evaluation {} rejected on node {}: {}",
                waiting->plan->eval_id.substr(0, 8), node.substr(0, 8), why);
    if (verified.verdict.accepts_nothing) {
      auto result = scheduler::make_plan_result(verified, 0);
      result.refresh_index = store->snapshot().index();
      return actor::answer<PlanApplied>(waiting->promise, PlanApplied{std::move(result)});
    }
    const auto command = scheduler::make_plan_command({verified}, state, unix_now(), random);
    const auto order = next_order++;
    if (continuation && !under_way.empty()) apply_ahead(command);
    under_way.emplace(order, command);
    write(std::move(*waiting), std::move(verified.verdict), command, order);
  }

  void write(Waiting waiting,
             scheduler::PlanVerdict verdict,
             const Object<schema::Command>& command,
             std::uint64_t order) {
    writes->propose(ApplierSelf{self}, command,
                    [this, waiting, verdict, order](Result<Committed> committed) mutable {
                      under_way.erase(order);
                      if (!committed) continuation.reset();  // it holds what did not happen
                      finish(waiting, std::move(verdict), committed);
                    });
  }

  static void finish(Waiting& waiting,
                     scheduler::PlanVerdict verdict,
                     const Result<Committed>& committed) {
    if (!committed) return actor::answer<PlanApplied>(waiting.promise, committed.error());
    const auto& plans = committed->outcome->plans;
    if (!plans.empty() && plans.front())
      return actor::answer<PlanApplied>(waiting.promise, *plans.front());
    waiting.promise.deliver(PlanApplied{
        scheduler::make_plan_result({waiting.plan.get(), std::move(verdict)}, committed->index)});
  }
};

ApplierSelf::behavior_type plan_applier_actor(ApplierState::Self self,
                                              std::shared_ptr<state::Store> store,
                                              raft::Proposer proposer,
                                              std::uint64_t random_seed) {
  auto& state = self->state;
  state.self = self;
  state.store = std::move(store);
  state.writes.emplace(std::move(proposer), access::own_work("plan_applier"));
  state.random = Random{self->seed(random_seed)};
  if (self->began_again()) state.await_log();

  return {
      [self](const SubmitPlan& msg) -> actor::Answer<PlanApplied> {
        if (self->state.queue.size() >= most_waiting)
          return Error{Errc::overloaded, "too many plans are waiting"};
        auto promise = self->make_response_promise<PlanApplied>();
        self->state.submit({msg.plan, promise});
        return promise;
      },
      [self](Next) { self->state.next(); },
      [self](const WriteDone& msg) { self->state.writes->finish(msg); },
  };
}

}  // namespace

PlanApplier spawn_plan_applier(const actor::Owner& owner,
                               std::shared_ptr<state::Store> store,
                               raft::Proposer proposer,
                               std::uint64_t random_seed) {
  return actor::spawn<actor::Policy::restart>(owner, plan_applier_actor, std::move(store),
                                              std::move(proposer), random_seed);
}

}  // namespace nomad::server
