#include "actors/server/scheduler_worker.hpp"

#include <unordered_map>

#include "actors/core/supervise.hpp"
#include "actors/server/writes.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/scheduler/proposal.hpp"
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
  std::string eval_id;
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

  /// An evaluation that is worked on.
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
  std::optional<Writes> writes;
  EvalBroker broker;
  PlanApplier applier;
  SchedulerWorkerOptions options;
  Random random{0};
  scheduler::Reservations reservations;
  std::unordered_map<std::string, Work> works;  ///< By evaluation.
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
            [this](const caf::error&) {  // not leading, or no answer
              asking = false;
              actor::send_self_after(self, ask_again_after, AskAgain{});
            });
  }

  void begin(const eval_broker::Delivery& delivery) {
    ++stats.started;
    const auto id = copy(delivery.eval->getId());
    auto& work = works[id];
    work.delivery = delivery;
    work.needed_index = delivery.wait_index;
    work.scheduler = scheduler::make_scheduler(delivery.eval, random.next());
    if (!work.scheduler) {
      log::error("scheduler_worker", "evaluation {} has the unknown type \"{}\"", short_id(id),
                 view(delivery.eval->getType()));
      return refuse(id);
    }
    go_on(id);
  }

  /// Starts or resumes the scheduler, as soon as the state is new enough.
  void go_on(const std::string& id) {
    auto& work = works.at(id);
    const auto snapshot = store->snapshot();
    if (snapshot.index() < work.needed_index) {
      if (++work.looks > most_looks) return refuse(id);
      return actor::send_self_after(self, 10ms, LookAgain{id});
    }
    work.looks = 0;
    const scheduler::Moment moment{snapshot, unix_now(), &reservations};
    if (!work.result) return take(id, work.scheduler->start(moment));
    const auto result = *std::exchange(work.result, std::nullopt);
    take(id, work.scheduler->resume(moment, result));
  }

  // -- the scheduler's steps ---------------------------------------------------------------------

  void take(const std::string& id, scheduler::Step step) {
    if (step.lacks_room && !reservations.empty()) {
      works.at(id).deferred = true;
      return;
    }
    if (step.plan) return submit(id, std::move(*step.plan));
    if (step.evaluations.empty()) return settle(id);
    const auto command = make_command([&](schema::Command::Builder command) {
      auto list = command.initEvalUpdate().initEvaluations(
          static_cast<unsigned>(step.evaluations.size()));
      for (unsigned i = 0; i < list.size(); ++i)
        list.setWithCaveats(i, *step.evaluations[i]);
    });
    writes->propose(WorkerSelf{self}, command, [this, id](Result<Committed> committed) {
      if (committed) return settle(id);
      log::warn("scheduler_worker", "evaluation {}: {}", short_id(id), committed.error().what);
      refuse(id);
    });
  }

  void submit(const std::string& id, scheduler::Plan plan) {
    ++stats.plans;
    auto& work = works.at(id);
    plan.eval_token = work.delivery.token;
    auto shared = std::make_shared<const scheduler::Plan>(std::move(plan));
    reservations.add(*shared);
    // A paused delivery does not time out, so what is submitted is of the one that counts.
    self->request(broker, broker_timeout, eval_broker::PauseNack{id, work.delivery.token})
        .then([this, id, shared](eval_broker::Done) { apply(id, shared); },
              [this, id](const caf::error& err) { fail(id, actor::from_caf(err)); });
  }

  void apply(const std::string& id, const std::shared_ptr<const scheduler::Plan>& plan) {
    self->request(applier, plan_timeout, SubmitPlan{plan})
        .then(
            [this, id](PlanApplied& applied) {
              release(id);
              resume_nack(id);
              auto& work = works.at(id);
              work.needed_index
                  = std::max(applied.result.refresh_index, applied.result.alloc_index);
              work.result = std::move(applied.result);
              go_on(id);
              start_deferred();
            },
            [this, id](const caf::error& err) { fail(id, actor::from_caf(err)); });
  }

  void release(const std::string& id) { reservations.remove(id); }

  void start_deferred() {
    if (!reservations.empty()) return;
    std::vector<std::string> ready;
    for (auto& [id, work] : works)
      if (std::exchange(work.deferred, false)) ready.push_back(id);
    for (const auto& id : ready) {
      if (!reservations.empty()) {  // an earlier one of these has taken something
        works.at(id).deferred = true;
        continue;
      }
      auto& work = works.at(id);
      work.scheduler = scheduler::make_scheduler(work.delivery.eval, random.next());
      work.result.reset();
      go_on(id);
    }
  }

  // -- ends ---------------------------------------------------------------------------------------

  void resume_nack(const std::string& id) {
    const auto& token = works.at(id).delivery.token;
    self->request(broker, broker_timeout, eval_broker::ResumeNack{id, token})
        .then([](eval_broker::Done) {},
              [id](const caf::error& err) {
                log::debug("scheduler_worker", "evaluation {}: {}", short_id(id),
                           actor::from_caf(err).what);
              });
  }

  void fail(const std::string& id, const Error& error) {
    release(id);
    log::warn("scheduler_worker", "the plan of evaluation {} failed: {}", short_id(id), error.what);
    refuse(id);
    start_deferred();
  }

  void settle(const std::string& id) {
    const auto work = works.extract(id);
    self->request(broker, broker_timeout, eval_broker::Ack{id, work.mapped().delivery.token})
        .then([](eval_broker::Done) {},
              [id](const caf::error& err) {
                log::warn("scheduler_worker", "evaluation {} was not acknowledged: {}",
                          short_id(id), actor::from_caf(err).what);
              });
    ask();
  }

  void refuse(const std::string& id) {
    ++stats.failed;
    const auto work = works.extract(id);
    self->request(broker, broker_timeout, eval_broker::Nack{id, work.mapped().delivery.token})
        .then([](eval_broker::Done) {},
              [id](const caf::error& err) {
                log::debug("scheduler_worker", "evaluation {}: {}", short_id(id),
                           actor::from_caf(err).what);
              });
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
  state.writes.emplace(std::move(proposer));
  state.broker = std::move(broker);
  state.applier = std::move(applier);
  state.random = Random{options.random_seed};
  state.options = std::move(options);
  state.ask();

  return {
      [self](GetSchedulerWorkerStats) { return self->state.stats; },
      [self](AskAgain) { self->state.ask(); },
      [self](const LookAgain& msg) {
        if (self->state.works.contains(msg.eval_id)) self->state.go_on(msg.eval_id);
      },
      [self](const WriteDone& msg) { self->state.writes->finish(msg); },
  };
}

}  // namespace

SchedulerWorker spawn_scheduler_worker(caf::actor_system& system,
                                       std::shared_ptr<state::Store> store,
                                       raft::Proposer proposer,
                                       EvalBroker broker,
                                       PlanApplier applier,
                                       SchedulerWorkerOptions options) {
  if (!options.detached)
    return actor::spawn(system, scheduler_worker_actor, std::move(store), std::move(proposer),
                        std::move(broker), std::move(applier), std::move(options));
  return actor::spawn_detached(system, scheduler_worker_actor, std::move(store),
                               std::move(proposer), std::move(broker), std::move(applier),
                               std::move(options));
}

}  // namespace nomad::server
