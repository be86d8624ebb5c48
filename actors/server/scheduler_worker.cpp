#include "actors/server/scheduler_worker.hpp"

#include <map>

#include "actors/core/supervise.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/scheduler/placement/proposal.hpp"
#include "runtime/scheduler/plan/held_steps.hpp"
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

using WorkerSelf = actor::WithInternal<SchedulerWorker, void(AskAgain), void(LookAgain)>;

constexpr auto broker_timeout = 90s;
constexpr auto broker_wait = 60s;
constexpr auto plan_timeout = 60s;
constexpr auto decision_timeout = 30s;
constexpr auto ask_again_after = 250ms;
constexpr int most_looks = 500;  // of 10 ms each: the state must be there within 5 s

struct WorkerState {
  static constexpr const char* name = "scheduler_worker";

  using Self = WorkerSelf::stateful_pointer<WorkerState>;
  using TimePoint = std::chrono::steady_clock::time_point;
  using Names = std::vector<std::string_view>;  ///< Of metrics.

  /// A scheduler's step, ready to be carried out.
  struct Decided {
    std::shared_ptr<const scheduler::Plan> plan;  ///< Null: it is the end.
    std::vector<Object<schema::Evaluation>> evaluations;
  };

  /// A delivery that is worked on. Several may be of one evaluation: the broker delivers again what
  /// took too long, and when its server leads again, while what was begun before is not over.
  struct Work {
    eval_broker::Delivery delivery;
    std::unique_ptr<scheduler::Scheduler> scheduler;
    std::uint64_t needed_index = 0;
    int looks = 0;
    scheduler::Question* question = nullptr;      ///< Of the scheduler; a plugin is asked it.
    std::optional<scheduler::PlanResult> result;  ///< To resume with once the state is there.
    TimePoint since{};                            ///< Of what is measured next.

    std::uint64_t decision = 0;  ///< The number of the last one; 0: none is kept.

    /// A step that found no room with plans under way in the way. It is right if these are written
    /// as they are; a decision on the state with them would be the same. If not, decide anew.
    std::optional<Decided> held;
  };

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  EvalBroker broker;
  PlanApplier applier;
  SchedulerWorkerOptions options;
  scheduler::Reservations reservations;
  std::map<std::string, Work> works;  ///< By the delivery's token.
  scheduler::HeldSteps held;          ///< Of these.
  bool asking = false;
  SchedulerWorkerStats stats;

  /// What Nomad's workers do by calls of servers has names on both sides.
  void measure(const Names& names, TimePoint begun) const {
    for (const auto name : names)
      options.metrics->measure(name, self->now() - begun);
  }

  // -- taking evaluations ------------------------------------------------------------------------

  void ask() {
    if (asking || works.size() >= options.most_at_once) return;
    auto types = options.types->get();
    if (types.empty()) return;
    asking = true;
    const auto asked = self->now();
    self->request(broker, broker_timeout,
                  eval_broker::Dequeue{std::move(types), broker_wait, options.id})
        .then(
            [this, asked](const eval_broker::Delivery& delivery) {
              asking = false;
              measure(Names{"worker.dequeue_eval", "eval.dequeue"}, asked);
              if (delivery.eval) begin(delivery);
              ask();
            },
            [this](const Error&) {  // no answer
              asking = false;
              actor::send_self_after(self, ask_again_after, AskAgain{});
            });
  }

  void types_changed() {
    if (asking)
      self->send(broker, eval_broker::Withdraw{options.id});
    else
      ask();
  }

  SchedulerWorkerStats report() const {
    auto now = stats;
    now.works = works.size();
    return now;
  }

  void begin(const eval_broker::Delivery& delivery) {
    ++stats.started;
    const auto& token = delivery.token;
    auto& work = works[token];
    work.delivery = delivery;
    work.needed_index = delivery.wait_index;
    work.scheduler = scheduler::make_scheduler(delivery.eval);
    work.since = self->now();
    if (!work.scheduler)
      return give_back(token, {Errc::rejected, fmt::format("it has the unknown type \"{}\"",
                                                           view(delivery.eval->getType()))});
    go_on(token);
  }

  std::string id_of(const std::string& token) const {
    return copy(works.at(token).delivery.eval->getId());
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
    const auto begun = self->now();
    options.metrics->measure("worker.wait_for_index", begun - std::exchange(work.since, begun));
    const scheduler::Moment moment{snapshot, unix_now(), &reservations, options.region};
    const auto result = std::exchange(work.result, std::nullopt);
    auto step = decide([&] {
      return result ? work.scheduler->resume(moment, *result) : work.scheduler->start(moment);
    });
    options.metrics->measure("worker.invoke_scheduler." + copy(work.delivery.eval->getType()),
                             self->now() - begun);
    if (!step) return give_back(token, step.error());
    if (step->question != nullptr) return consult(token, step->question);
    take(token, std::move(*step));
  }

  // -- schedulers of plugins ---------------------------------------------------------------------

  void consult(const std::string& token, scheduler::Question* question) {
    const auto type = copy(works.at(token).delivery.eval->getType());
    const auto known = options.job_types ? options.job_types->find(type) : std::nullopt;
    if (!known)
      return give_back(
          token, {Errc::unavailable,
                  fmt::format("no plugin of this server schedules jobs of type \"{}\"", type)});
    works.at(token).since = self->now();
    works.at(token).question = question;
    self->request(known->decider, decision_timeout, decider::Decide{question->make(known->reads)})
        .then(
            [this, token](const decider::Decided& decided) {
              if (works.contains(token)) follow(token, decided.decision);
            },
            [this, token, plugin = known->plugin](const Error& err) {
              if (works.contains(token)) give_back(token, err.within("plugin " + plugin));
            });
  }

  void follow(const std::string& token, const Object<schema::plugin::Decision>& decision) {
    auto& work = works.at(token);
    const auto type = copy(work.delivery.eval->getType());
    options.metrics->measure("worker.ask_scheduler." + type, self->now() - work.since);
    auto step = decide([&]() -> Result<scheduler::Step> {
      if (work.question == nullptr) return Error{Errc::internal, "it was not asked"};
      return std::exchange(work.question, nullptr)->answer(decision);
    });
    if (step) return take(token, std::move(*step), decision);
    give_back(token, step.error().within("the scheduler of type " + type), decision);
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

  void take(const std::string& token,
            scheduler::Step step,
            const Object<schema::plugin::Decision>& answer = {}) {
    auto& work = works.at(token);
    work.decision = options.decisions && step.inputs ? options.decisions->next_number() : 0;
    Decided decided{.plan = nullptr, .evaluations = std::move(step.evaluations)};
    if (step.plan) {
      step.plan->eval_token = token;
      step.plan->decision = work.decision;
      decided.plan = std::make_shared<const scheduler::Plan>(std::move(*step.plan));
    }
    if (work.decision != 0)
      options.decisions->add(scheduler::Decided{.number = work.decision,
                                                .inputs = std::move(step.inputs),
                                                .plan = decided.plan,
                                                .answer = answer,
                                                .lacks_room = step.lacks_room});
    if (step.lacks_room && !reservations.empty()) return hold(token, std::move(decided));
    carry_out(token, std::move(decided));
  }

  void carry_out(const std::string& token, Decided step) {
    if (step.plan) return submit(token, step.plan);
    if (step.evaluations.empty()) return settle(token);
    const auto command = make_command([&](schema::Command::Builder command) {
      auto list = command.initEvalUpdate().initEvaluations(
          static_cast<unsigned>(step.evaluations.size()));
      for (unsigned i = 0; i < list.size(); ++i)
        list.setWithCaveats(i, *step.evaluations[i]);
    });
    auto names = names_of_write(view(works.at(token).delivery.eval->getId()), step.evaluations);
    keep(token, [this, token, command, names = std::move(names)] { write(token, command, names); });
  }

  /// Under which names a write of these evaluations is measured, alone or with a plan: Nomad makes
  /// one write for each of them.
  static Names names_of_write(std::string_view own_id,
                              const std::vector<Object<schema::Evaluation>>& evaluations) {
    bool updates = false;
    bool reblocks = false;
    bool creates = false;
    for (const auto& eval : evaluations) {
      const bool is_own = view(eval->getId()) == own_id;
      const bool is_blocked = eval->getStatus() == schema::EvalStatus::BLOCKED;
      (!is_own ? creates : is_blocked ? reblocks : updates) = true;
    }
    Names names;
    const auto add = [&names](std::string_view of_worker, std::string_view of_server) {
      names.push_back(of_worker);
      names.push_back(of_server);
    };
    if (updates) add("worker.update_eval", "eval.update");
    if (reblocks) add("worker.reblock_eval", "eval.reblock");
    if (creates) add("worker.create_eval", "eval.create");
    return names;
  }

  void write(const std::string& token, const Object<schema::Command>& command, const Names& names) {
    const auto begun = self->now();
    const auto then = [this, token, begun, names](Result<Committed> committed) {
      measure(names, begun);
      if (!works.contains(token)) return;
      if (committed) return settle(token);
      log::warn("worker", "an evaluation that follows was not written",
                {{"eval", id_of(token)}, {"error", committed.error()}});
      refuse(token);
    };
    writes->propose(command, then);
  }

  /// Goes on with `then` if the delivery still counts, which it does from then on until it is
  /// settled or resumed: what is paused does not time out.
  template <class Then>
  void keep(const std::string& token, Then then) {
    self->request(broker, broker_timeout, eval_broker::PauseNack{id_of(token), token})
        .then([then](eval_broker::Done) { then(); },
              [this, token](const Error& err) { fail(token, err); });
  }

  void submit(const std::string& token, const std::shared_ptr<const scheduler::Plan>& plan) {
    ++stats.plans;
    reservations.add(plan);
    keep(token, [this, token, plan] { apply(token, plan); });
  }

  void apply(const std::string& token, const std::shared_ptr<const scheduler::Plan>& plan) {
    const auto begun = self->now();
    self->request(applier, plan_timeout, SubmitPlan{plan})
        .then(
            [this, token, begun, plan](PlanApplied& applied) {
              options.metrics->measure("worker.submit_plan", self->now() - begun);
              auto evaluations = plan->evaluations;
              if (applied.result.completion_written) evaluations.push_back(plan->completion);
              measure(names_of_write(plan->eval_id, evaluations), begun);
              if (options.decisions && plan->decision != 0)
                options.decisions->add(
                    scheduler::PlanEnded{.number = plan->decision, .result = applied.result});
              if (!works.contains(token)) return;
              resume_nack(token);
              auto& work = works.at(token);
              work.needed_index
                  = std::max(applied.result.refresh_index, applied.result.alloc_index);
              work.since = self->now();
              const bool is_full = applied.result.is_full();
              work.result = std::move(applied.result);
              reservations.remove(token);
              go_on(token);
              release(token, is_full);
            },
            [this, token](const Error& err) { fail(token, err); });
  }

  // -- what is told of decisions -----------------------------------------------------------------

  void tell_failed_decision(const Work& work,
                            const Error& why,
                            const Object<schema::plugin::Decision>& answer) const {
    if (!options.decisions || !work.scheduler) return;
    const auto& inputs = work.scheduler->unused_inputs();
    if (!inputs) return;
    options.decisions->add(scheduler::Decided{.number = options.decisions->next_number(),
                                              .inputs = inputs,
                                              .answer = answer,
                                              .failure = why.what});
  }

  /// The plan of the last decision, if it came to one, is not judged any more.
  void tell_lost_plan(const Work& work, std::string why) const {
    if (options.decisions && work.decision != 0)
      options.decisions->add(
          scheduler::PlanEnded{.number = work.decision, .failure = std::move(why)});
  }

  // -- steps that wait for plans of others -------------------------------------------------------

  /// What it wants to place is reserved meanwhile.
  void hold(const std::string& token, Decided step) {
    held.hold(token, reservations.tokens());
    if (step.plan) reservations.add(step.plan);
    works.at(token).held = std::move(step);
    keep(token, [] {});
  }

  /// The plan under way of `settled` is over, and written in full or not.
  void release(const std::string& settled, bool is_full) {
    held.settle(settled, is_full);
    while (const auto ready = held.take_ready()) {
      const auto found = works.find(ready->token);
      if (found == works.end() || !found->second.held) continue;
      if (ready->holds_true)
        carry_out(ready->token, *std::exchange(found->second.held, std::nullopt));
      else
        decide_anew(ready->token);
    }
  }

  /// And with it all that counted on what it wanted.
  void decide_anew(const std::string& first) {
    auto tokens = held.take_dependents(first);
    tokens.insert(tokens.begin(), first);
    for (const auto& token : tokens)
      reservations.remove(token);
    for (const auto& token : tokens) {
      const auto found = works.find(token);
      if (found == works.end()) continue;
      auto& work = found->second;
      if (work.held && work.held->plan)
        tell_lost_plan(work, "decided anew: a plan that it counted on was not written as it was");
      work.held.reset();
      work.scheduler = scheduler::make_scheduler(work.delivery.eval);
      work.result.reset();
      work.since = self->now();
      resume_nack(token);
      go_on(token);
    }
  }

  // -- ends ---------------------------------------------------------------------------------------

  void resume_nack(const std::string& token) {
    self->request(broker, broker_timeout, eval_broker::ResumeNack{id_of(token), token})
        .then([](eval_broker::Done) {},
              [id = id_of(token)](const Error& err) {
                log::debug("worker", "the time of the evaluation does not go on",
                           {{"eval", id}, {"error", err}});
              });
  }

  void fail(const std::string& token, const Error& error) {
    if (!works.contains(token)) return;  // it was over before
    log::warn("worker", "the plan of the evaluation failed",
              {{"eval", id_of(token)}, {"error", error}});
    tell_lost_plan(works.at(token), error.what);
    reservations.remove(token);
    held.erase(token);
    refuse(token);
    release(token, false);
  }

  void settle(const std::string& token) {
    const auto id = id_of(token);
    const auto begun = self->now();
    self->request(broker, broker_timeout, eval_broker::Ack{id_of(token), token})
        .then(
            [this, begun](eval_broker::Done) {
              measure(Names{"worker.send_ack", "eval.ack"}, begun);
            },
            [id](const Error& err) {
              log::warn("worker", "the evaluation was not acknowledged",
                        {{"eval", id}, {"error", err}});
            });
    works.erase(token);
    ask();
  }

  /// Its scheduler has come to no step.
  void give_back(const std::string& token,
                 const Error& error,
                 const Object<schema::plugin::Decision>& answer = {}) {
    log::error("worker", "the evaluation failed", {{"eval", id_of(token)}, {"error", error}});
    tell_failed_decision(works.at(token), error, answer);
    refuse(token, error.what);
  }

  void refuse(const std::string& token, const std::string& why = {}) {
    ++stats.failed;
    const auto id = id_of(token);
    const auto begun = self->now();
    self->request(broker, broker_timeout, eval_broker::Nack{id_of(token), token, why})
        .then(
            [this, begun](eval_broker::Done) {
              measure(Names{"worker.send_ack", "eval.nack"}, begun);
            },
            [id](const Error& err) {
              log::debug("worker", "the evaluation was not given back",
                         {{"eval", id}, {"error", err}});
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
  state.writes.emplace(self, std::move(proposer), access::own_work("scheduler_worker"));
  state.broker = std::move(broker);
  state.applier = std::move(applier);
  state.options = std::move(options);
  state.stats.since = unix_now();
  state.ask();

  return {
      [self](GetSchedulerWorkerStats) { return self->state.report(); },
      [self](TypesChanged) { self->state.types_changed(); },
      [self](AskAgain) { self->state.ask(); },
      [self](const LookAgain& msg) {
        if (self->state.works.contains(msg.token)) self->state.go_on(msg.token);
      },
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
