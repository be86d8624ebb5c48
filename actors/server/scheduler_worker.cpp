#include "actors/server/scheduler_worker.hpp"

#include <unordered_map>

#include "actors/core/supervise.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/scheduler/placement/proposal.hpp"
#include "runtime/scheduler/scheduler.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using plan_applier::PlanApplied;
using plan_applier::SubmitPlan;

/// Ask the broker again after it could not answer.
struct AskAgain {
  using is_message = void;
};

/// The state that an evaluation needs was not there yet; look again.
struct LookAgain {
  using is_message = void;
  std::string token;
};

using WorkerSelf
    = actor::WithInternal<SchedulerWorker, void(AskAgain), void(LookAgain), void(WriteDone)>;

constexpr auto broker_timeout = 90s;
constexpr auto plan_timeout = 60s;
constexpr auto ask_again_after = 250ms;
constexpr int most_looks = 500;  // of 10 ms each: the state must be there within 5 s

struct WorkerState {
  static constexpr const char* name = "scheduler_worker";

  using Self = WorkerSelf::stateful_pointer<WorkerState>;

  /// A delivery that is worked on. Several may be of one evaluation: the broker delivers again what
  /// took too long, and when its server leads again, while what was begun before is not over.
  struct Work {
    eval_broker::Delivery delivery;
    std::unique_ptr<scheduler::Scheduler> scheduler;
    std::uint64_t needed_index = 0;
    int looks = 0;
    std::optional<scheduler::PlanResult> result;  ///< To resume with once the state is there.
    bool deferred = false;                        ///< Waits for the reservations to be gone.
  };

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  EvalBroker broker;
  PlanApplier applier;
  SchedulerWorkerOptions options;
  Random random{0};
  scheduler::Reservations reservations;
  std::unordered_map<std::string, Work> works;  ///< By the delivery's token.
  bool asking = false;
  SchedulerWorkerStats stats;

  // -- taking evaluations ------------------------------------------------------------------------

  void ask() {
    if (asking || works.size() >= options.most_at_once) return;
    asking = true;
    self->request(broker, broker_timeout, eval_broker::Dequeue{options.types})
        .then(
            [this](const eval_broker::Delivery& delivery) {
              asking = false;
              if (delivery.eval) begin(delivery);
              ask();
            },
            [this](const Error&) {  // not leading, or no answer
              asking = false;
              actor::send_self_after(self, ask_again_after, AskAgain{});
            });
  }

  void begin(const eval_broker::Delivery& delivery) {
    ++stats.started;
    const auto& token = delivery.token;
    auto& work = works[token];
    work.delivery = delivery;
    work.needed_index = delivery.wait_index;
    work.scheduler = scheduler::make_scheduler(delivery.eval, random.next());
    if (!work.scheduler) {
      log::error("scheduler_worker", "evaluation {} has the unknown type \"{}\"", name_of(token),
                 view(delivery.eval->getType()));
      return refuse(token);
    }
    go_on(token);
  }

  std::string id_of(const std::string& token) const {
    return copy(works.at(token).delivery.eval->getId());
  }

  std::string name_of(const std::string& token) const {
    return std::string{short_id(id_of(token))};
  }

  /// Starts or resumes the scheduler, as soon as the state is new enough.
  void go_on(const std::string& token) {
    auto& work = works.at(token);
    const auto snapshot = store->snapshot();
    if (snapshot.index() < work.needed_index) {
      if (++work.looks > most_looks) return refuse(token);
      actor::send_self_after(self, 10ms, LookAgain{token});
      return;
    }
    work.looks = 0;
    const scheduler::Moment moment{snapshot, unix_now(), &reservations};
    const auto result = std::exchange(work.result, std::nullopt);
    auto step = decide([&] {
      return result ? work.scheduler->resume(moment, *result) : work.scheduler->start(moment);
    });
    if (step) return take(token, std::move(*step));
    log::error("scheduler_worker", "evaluation {}: {}", name_of(token), step.error().what);
    refuse(token);
  }

  /// What throws there is this evaluation's failure: the broker counts them.
  template <class Decision>
  static Result<scheduler::Step> decide(Decision decision) {
    try {
      return decision();
    } catch (const std::exception& err) {
      return Error{Errc::internal, fmt::format("its scheduler has failed: {}", err.what())};
    }
  }

  // -- the scheduler's steps ---------------------------------------------------------------------

  void take(const std::string& token, scheduler::Step step) {
    if (step.lacks_room && !reservations.empty()) {
      works.at(token).deferred = true;
      return;
    }
    if (step.plan) return submit(token, std::move(*step.plan));
    if (step.evaluations.empty()) return settle(token);
    const auto command = make_command([&](schema::Command::Builder command) {
      auto list = command.initEvalUpdate().initEvaluations(
          static_cast<unsigned>(step.evaluations.size()));
      for (unsigned i = 0; i < list.size(); ++i)
        list.setWithCaveats(i, *step.evaluations[i]);
    });
    writes->propose(WorkerSelf{self}, command, [this, token](Result<Committed> committed) {
      if (committed) return settle(token);
      log::warn("scheduler_worker", "evaluation {}: {}", name_of(token), committed.error().what);
      refuse(token);
    });
  }

  void submit(const std::string& token, scheduler::Plan plan) {
    ++stats.plans;
    plan.eval_token = token;
    auto shared = std::make_shared<const scheduler::Plan>(std::move(plan));
    reservations.add(*shared);
    // A paused delivery does not time out, so what is submitted is of the one that counts.
    self->request(broker, broker_timeout, eval_broker::PauseNack{id_of(token), token})
        .then([this, token, shared](eval_broker::Done) { apply(token, shared); },
              [this, token](const Error& err) { fail(token, err); });
  }

  void apply(const std::string& token, const std::shared_ptr<const scheduler::Plan>& plan) {
    self->request(applier, plan_timeout, SubmitPlan{plan})
        .then(
            [this, token](PlanApplied& applied) {
              reservations.remove(token);
              resume_nack(token);
              auto& work = works.at(token);
              work.needed_index
                  = std::max(applied.result.refresh_index, applied.result.alloc_index);
              work.result = std::move(applied.result);
              go_on(token);
              start_deferred();
            },
            [this, token](const Error& err) { fail(token, err); });
  }

  void start_deferred() {
    if (!reservations.empty()) return;
    std::vector<std::string> ready;
    for (auto& [token, work] : works)
      if (std::exchange(work.deferred, false)) ready.push_back(token);
    for (const auto& token : ready) {
      auto& work = works.at(token);
      if (!reservations.empty()) {  // an earlier one of these has taken something
        work.deferred = true;
        continue;
      }
      work.scheduler = scheduler::make_scheduler(work.delivery.eval, random.next());
      work.result.reset();
      go_on(token);
    }
  }

  // -- ends ---------------------------------------------------------------------------------------

  void resume_nack(const std::string& token) {
    self->request(broker, broker_timeout, eval_broker::ResumeNack{id_of(token), token})
        .then([](eval_broker::Done) {},
              [name = name_of(token)](const Error& err) {
                log::debug("scheduler_worker", "evaluation {}: {}", name, err.what);
              });
  }

  void fail(const std::string& token, const Error& error) {
    reservations.remove(token);
    log::warn("scheduler_worker", "the plan of evaluation {} failed: {}", name_of(token),
              error.what);
    refuse(token);
    start_deferred();
  }

  void settle(const std::string& token) {
    const auto name = name_of(token);
    self->request(broker, broker_timeout, eval_broker::Ack{id_of(token), token})
        .then([](eval_broker::Done) {},
              [name](const Error& err) {
                log::warn("scheduler_worker", "evaluation {} was not acknowledged: {}", name,
                          err.what);
              });
    works.erase(token);
    ask();
  }

  void refuse(const std::string& token) {
    ++stats.failed;
    const auto name = name_of(token);
    self->request(broker, broker_timeout, eval_broker::Nack{id_of(token), token})
        .then([](eval_broker::Done) {},
              [name](const Error& err) {
                log::debug("scheduler_worker", "evaluation {}: {}", name, err.what);
              });
    works.erase(token);
    ask();
  }
};

WorkerSelf::behavior_type scheduler_worker_actor(WorkerState::Self self,
                                                 std::shared_ptr<state::Store> store,
                                                 raft::Proposer proposer,
                                                 EvalBroker broker,
                                                 PlanApplier applier,
                                                 SchedulerWorkerOptions options) {
  auto& state = self->state;
  state.self = self;
  state.store = std::move(store);
  state.writes.emplace(std::move(proposer), access::own_work("scheduler_worker"));
  state.broker = std::move(broker);
  state.applier = std::move(applier);
  state.random = Random{self->seed(options.random_seed)};
  state.options = std::move(options);
  state.ask();

  return {
      [self](GetSchedulerWorkerStats) { return self->state.stats; },
      [self](AskAgain) { self->state.ask(); },
      [self](const LookAgain& msg) {
        if (self->state.works.contains(msg.token)) self->state.go_on(msg.token);
      },
      [self](const WriteDone& msg) { self->state.writes->finish(msg); },
  };
}

}  // namespace

SchedulerWorker spawn_scheduler_worker(const actor::Owner& owner,
                                       std::shared_ptr<state::Store> store,
                                       raft::Proposer proposer,
                                       EvalBroker broker,
                                       PlanApplier applier,
                                       SchedulerWorkerOptions options) {
  if (!options.detached)
    return actor::spawn<actor::Policy::restart>(owner, scheduler_worker_actor, std::move(store),
                                                std::move(proposer), std::move(broker),
                                                std::move(applier), std::move(options));
  return actor::spawn_detached<actor::Policy::restart>(
      owner, scheduler_worker_actor, std::move(store), std::move(proposer), std::move(broker),
      std::move(applier), std::move(options));
}

}  // namespace nomad::server
