#include "actors/server/eval_broker.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <list>
#include <map>

#include "actors/core/supervise.hpp"
#include "actors/roles/no_leader.hpp"
#include "actors/server/actor_proposer.hpp"
#include "actors/server/broker_gauges.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/saturated.hpp"
#include "runtime/cluster/blocked/blocked_evals.hpp"
#include "runtime/cluster/blocked/wake.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using schema::EvalStatus;
using schema::EvalTrigger;

/// The queue has something to do at its next deadline.
struct Due {
  using is_message = void;
  std::uint64_t round;
};

/// The time that a worker wanted to wait at most is over.
struct WaitOver {
  using is_message = void;
  std::uint64_t waiter;
};

struct RetryFailed {
  using is_message = void;
};

/// The gauges are due.
struct ShowGauges {
  using is_message = void;
};

/// These could not be ended; try again. `term` counts leaderships.
struct CancelAgain {
  using is_message = void;
  std::vector<std::string> ids;
  std::string why;
  std::uint64_t term;
};

using BrokerSelf = actor::WithInternal<EvalBroker,
                                       void(Due),
                                       void(WaitOver),
                                       void(RetryFailed),
                                       void(ShowGauges),
                                       void(CancelAgain)>;

constexpr std::size_t reap_batch = 728;
constexpr std::size_t remembered_retries = 15;
constexpr auto cancel_again_after = 1s;

/// What is left of an evaluation's delay. It began when the evaluation was made, and goes on over
/// changes of leader; a clock that has jumped makes it neither longer nor negative.
std::chrono::nanoseconds delay_left(schema::Evaluation::Reader eval) {
  const auto since_now = [](std::int64_t time) {
    return std::max(std::chrono::nanoseconds{time - unix_now()}, std::chrono::nanoseconds{0});
  };
  auto left = since_now(eval.getWaitUntil());
  if (eval.getWait() <= 0) return left;
  const std::chrono::nanoseconds wait{eval.getWait()};
  if (eval.getCreateTime() == 0) return std::max(left, wait);
  return std::max(left,
                  std::min(since_now(saturated_sum(eval.getCreateTime(), eval.getWait())), wait));
}

cluster::EvalEntry entry_of(schema::Evaluation::Reader eval, cluster::TimePoint now) {
  cluster::EvalEntry entry{.id = copy(eval.getId()),
                           .ns = copy(eval.getNamespace()),
                           .job_id = copy(eval.getJobId()),
                           .type = copy(eval.getType()),
                           .priority = static_cast<std::int32_t>(eval.getPriority()),
                           .create_index = eval.getCreateIndex(),
                           .modify_index = eval.getModifyIndex()};
  if (const auto left = delay_left(eval); left > 0ns) entry.not_before = now + left;
  return entry;
}

cluster::EvalEntry entry_of(const cluster::BlockedEval& blocked) {
  return {.id = blocked.id,
          .ns = blocked.ns,
          .job_id = blocked.job_id,
          .type = blocked.type,
          .priority = blocked.priority,
          .create_index = blocked.create_index,
          .modify_index = blocked.modify_index};
}

struct BrokerState {
  static constexpr const char* name = "eval_broker";

  struct Waiter {
    std::uint64_t number;
    std::string worker;
    std::vector<std::string> types;
    actor::Promise<eval_broker::Delivery> promise;
    actor::Timer end;
  };

  using Self = BrokerSelf::stateful_pointer<BrokerState>;

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  cluster::EvalQueue queue;
  cluster::BlockedEvals blocked;
  Random random{0};
  EvalBrokerOptions options;
  bool leads = false;
  bool paused = false;     ///< By the operators, in the scheduler configuration.
  std::uint64_t term = 0;  ///< Counts leaderships.
  std::list<Waiter> waiters;
  std::uint64_t next_waiter = 1;
  std::map<std::string, std::string, std::less<>> refusals;  ///< Why evaluations were refused last.
  std::uint64_t round = 0;                                   ///< Of the newest Due timer.
  std::optional<cluster::TimePoint> armed;                   ///< When that timer fires.

  std::deque<std::uint64_t> past_indexes;  ///< Of the state, at each of the last RetryFailed.

  cluster::TimePoint now() const { return self->now(); }

  void retry_failed() {
    release(blocked.unblock_failed());
    work();
    // What changed so long ago concerns no evaluation that is yet to block.
    past_indexes.push_back(store->snapshot().index());
    if (past_indexes.size() > remembered_retries) {
      blocked.prune(past_indexes.front());
      past_indexes.pop_front();
    }
    actor::send_self_after(self, options.retry_failed_interval, RetryFailed{});
  }

  void enqueue(const Object<schema::Evaluation>& eval) {
    queue.enqueue(entry_of(*eval, now()), now());
  }

  void release(std::vector<cluster::BlockedEval> free) {
    for (auto& eval : free)
      queue.enqueue(entry_of(eval), now(), eval.token);
  }

  void block(cluster::BlockedEval eval) {
    if (auto missed = blocked.block(std::move(eval)))
      queue.enqueue(entry_of(*missed), now(), missed->token);
  }

  void track(const Object<schema::Evaluation>& eval) {
    if (view(eval->getType()) == "_core") return;
    switch (eval->getStatus()) {
      case EvalStatus::PENDING:
        return enqueue(eval);
      case EvalStatus::BLOCKED: {
        // One that is blocked again is still outstanding: its token takes it in after the ack.
        const auto token = queue.outstanding(view(eval->getId())).value_or("");
        return block(cluster::blocked_of(*eval, std::string{token}));
      }
      case EvalStatus::COMPLETE:
        if (eval->getFailedTgAllocs().size() == 0)
          blocked.untrack(view(eval->getNamespace()), view(eval->getJobId()));
        return;
      case EvalStatus::FAILED:
      case EvalStatus::CANCELED:
        return;
    }
  }

  /// Takes in what the state holds.
  void establish() {
    const auto snapshot = store->snapshot();
    std::vector<Object<schema::Evaluation>> open;
    auto oldest = std::numeric_limits<std::uint64_t>::max();
    for (const auto& entry : snapshot.evals()) {
      const auto& eval = entry.value();
      if (state::is_terminal(eval->getStatus())) continue;
      open.push_back(eval);
      if (eval->getStatus() == EvalStatus::BLOCKED)
        oldest = std::min<std::uint64_t>(oldest, eval->getSnapshotIndex());
    }
    if (oldest != std::numeric_limits<std::uint64_t>::max())  // else nobody waits
      cluster::note_past(blocked, snapshot, oldest);
    for (const auto& eval : open)
      track(eval);
  }

  void forget() {
    refusals.clear();
    queue.clear();
    blocked.clear();
  }

  /// Whether that is as it was. While it is paused the broker knows of nothing.
  bool obey_pause() {
    const bool wanted = store->snapshot().scheduler_configuration()->getPauseEvalBroker();
    if (wanted == paused) return true;
    paused = wanted;
    log::info("broker", paused ? "paused by the scheduler configuration"
                               : "goes on by the scheduler configuration");
    forget();
    if (!paused) establish();
    return false;
  }

  /// The actor ends.
  void refuse_waiters() {
    forget();
    for (auto& waiter : waiters) {
      self->cancel(waiter.end);
      waiter.promise.deliver(no_leader());
    }
    waiters.clear();
  }

  void apply(const state::Outcome& outcome) {
    const auto snapshot = store->snapshot();
    for (const auto& [ns, job] : outcome.jobs_stopped)
      blocked.untrack(ns, job);
    for (const auto& eval : outcome.evals)
      track(eval);
    release(cluster::wake(blocked, outcome, snapshot));
  }

  /// Hands out what is ready, ends what needs no worker, and sets the next timer.
  void work() {
    for (auto waiter = waiters.begin(); waiter != waiters.end();) {
      auto delivery = next(waiter->types);
      if (!delivery) {
        ++waiter;
        continue;
      }
      self->cancel(waiter->end);
      waiter->promise.deliver(std::move(*delivery));
      waiter = waiters.erase(waiter);
    }
    reap();
    arm();
  }

  std::optional<eval_broker::Delivery> next(const std::vector<std::string>& types) {
    while (auto entry = queue.dequeue(types, now(), random)) {
      const auto snapshot = store->snapshot();
      auto eval = snapshot.eval(entry->eval.id);
      if (!eval || state::is_terminal(eval->getStatus())) {  // nothing to decide any more
        settle(entry->eval.id, entry->token);
        continue;
      }
      std::uint64_t wait_index = eval->getModifyIndex();
      for (const auto& other : snapshot.evals_by_job(entry->eval.ns, entry->eval.job_id))
        wait_index = std::max<std::uint64_t>(wait_index, other.value()->getModifyIndex());
      return eval_broker::Delivery{std::move(eval), entry->token, wait_index};
    }
    return std::nullopt;
  }

  void settle(const std::string& id, const std::string& token) {
    refusals.erase(id);
    if (auto done = queue.ack(id, token, now()); !done)
      log::warn("broker", "the evaluation was not acknowledged",
                {{"eval", id}, {"error", done.error()}});
  }

  void arm() {
    const auto deadline = queue.next_deadline();
    if (!deadline || (armed && *armed <= *deadline)) return;
    armed = deadline;
    const auto delay = std::max(*deadline - now(), cluster::TimePoint::duration{0});
    actor::send_self_after(self, delay, Due{++round});
  }

  void reap() {
    if (auto entries = queue.take_cancelable(reap_batch); !entries.empty()) {
      std::vector<std::string> ids;
      for (auto& entry : entries)
        ids.push_back(std::move(entry.id));
      cancel(ids, "canceled after more recent eval was processed");
    }
    if (auto ids = blocked.take_duplicates(reap_batch); !ids.empty()) cancel(ids, "");
    static const std::vector<std::string> failed{std::string{cluster::EvalQueue::failed_queue}};
    while (auto delivery = queue.dequeue(failed, now(), random))
      fail(delivery->eval.id, delivery->token);
  }

  /// Ends evaluations that nobody needs to look at. Without `why` they are duplicates.
  /// Nobody but this queue knows of them, so that a write that fails is tried again.
  void cancel(const std::vector<std::string>& ids, std::string_view why) {
    const auto snapshot = store->snapshot();
    std::vector<Object<schema::Evaluation>> changed;
    for (const auto& id : ids) {
      const auto eval = snapshot.eval(id);
      if (!eval || eval->getStatus() == EvalStatus::COMPLETE) continue;
      Draft<schema::Evaluation> draft{eval};
      draft->setStatus(EvalStatus::CANCELED);
      draft->setStatusDescription(
          text(why.empty() ? fmt::format("existing blocked evaluation exists for job \"{}\"",
                                         view(eval->getJobId()))
                           : std::string{why}));
      draft->setModifyTime(unix_now());
      changed.push_back(draft.freeze());
    }
    if (changed.empty()) return;
    write(changed,
          [this, again = CancelAgain{ids, std::string{why}, term}](const Result<Committed>& done) {
            if (done || again.term != term) return;
            log::warn("broker", "evaluations could not be canceled",
                      {{"count", again.ids.size()}, {"error", done.error()}});
            actor::send_self_after(self, cancel_again_after, again);
          });
  }

  /// Delivered too often: the evaluation fails, and a follow-up tries again later.
  void fail(const std::string& id, const std::string& token) {
    const auto eval = store->snapshot().eval(id);
    if (!eval) return settle(id, token);
    const auto follow_up_id = make_uuid(random);
    Draft<schema::Evaluation> failed{eval};
    failed->setStatus(EvalStatus::FAILED);
    const auto refusal = refusals.find(id);
    const auto why = fmt::format("evaluation reached delivery limit (3){}{}",
                                 refusal == refusals.end() ? "" : ": ",
                                 refusal == refusals.end() ? "" : refusal->second);
    failed->setStatusDescription(text(why));
    failed->setNextEval(text(follow_up_id));
    failed->setModifyTime(unix_now());
    Draft<schema::Evaluation> follow_up;
    follow_up->setId(text(follow_up_id));
    follow_up->setNamespace(eval->getNamespace());
    follow_up->setPriority(eval->getPriority());
    follow_up->setType(eval->getType());
    follow_up->setTriggeredBy(EvalTrigger::FAILED_FOLLOW_UP);
    follow_up->setJobId(eval->getJobId());
    follow_up->setJobModifyIndex(eval->getJobModifyIndex());
    follow_up->setStatus(EvalStatus::PENDING);
    const auto delay = 60s + std::chrono::seconds{random.below(300)};
    follow_up->setWait(std::chrono::nanoseconds{delay}.count());
    follow_up->setPreviousEval(eval->getId());
    follow_up->setCreateTime(unix_now());
    follow_up->setModifyTime(unix_now());
    log::warn("broker", "the evaluation was delivered too often; another one follows",
              {{"eval", id}, {"job", view(eval->getJobId())}});
    write({failed.freeze(), follow_up.freeze()},
          [this, id, token](const Result<Committed>& written) {
            if (written) settle(id, token);
            work();
          });
  }

  void write(const std::vector<Object<schema::Evaluation>>& evals, ActorProposer::Then then) {
    const auto command = make_command([&](schema::Command::Builder command) {
      auto list = command.initEvalUpdate().initEvaluations(static_cast<unsigned>(evals.size()));
      for (unsigned i = 0; i < list.size(); ++i)
        list.setWithCaveats(i, *evals[i]);
    });
    writes->propose(command, std::move(then));
  }

  actor::Answer<eval_broker::Delivery> dequeue(const eval_broker::Dequeue& msg) {
    withdraw(msg.worker);  // one that began anew asks again: nobody takes the old answer
    if (leads)
      if (auto delivery = next(msg.types)) {
        arm();
        return std::move(*delivery);
      }
    auto promise = self->make_response_promise<eval_broker::Delivery>();
    const auto end = actor::send_self_after(self, msg.max_wait, WaitOver{next_waiter});
    waiters.push_back({next_waiter++, msg.worker, msg.types, promise, end});
    return promise;
  }

  void wait_over(std::uint64_t number) {
    const auto over = std::ranges::find(waiters, number, &Waiter::number);
    if (over == waiters.end()) return;
    over->promise.deliver(eval_broker::Delivery{});
    waiters.erase(over);
  }

  void withdraw(const std::string& worker) {
    const auto found = std::ranges::find(waiters, worker, &Waiter::worker);
    if (worker.empty() || found == waiters.end()) return;
    self->cancel(found->end);
    found->promise.deliver(eval_broker::Delivery{});
    waiters.erase(found);
  }

  void applied(const BatchApplied& batch) {
    const auto news = batch.feed->take();
    if (!leads) return;
    if (obey_pause() && !paused) {
      if (news.missed) begin_anew();
      for (const auto& outcome : news.outcomes)
        apply(*outcome);
    }
    work();
  }

  /// More was applied than the broker could be told of: the state has all of it. What workers have
  /// stays theirs: of one that waits for its plan nothing may be delivered once more.
  void begin_anew() {
    log::warn("broker", "too far behind what is applied: it takes in the state anew");
    queue.clear_undelivered();
    blocked.clear();
    std::erase_if(refusals, [this](const auto& each) { return !queue.outstanding(each.first); });
    establish();
  }

  void lead(bool leads_now) {
    forget();
    ++term;
    leads = leads_now;
    if (!leads) return;
    paused = store->snapshot().scheduler_configuration()->getPauseEvalBroker();
    if (!paused) establish();
    configure();
    work();
  }

  /// The agent's configuration has the scheduler's until somebody sets it.
  void configure() {
    const auto stored = store->snapshot().scheduler_configuration();
    if (!options.default_configuration || stored->getModifyIndex() > 0) return;
    const auto command = make_command([this](schema::Command::Builder command) {
      command.setSchedulerConfiguration(*options.default_configuration);
    });
    writes->propose(command, [](const Result<Committed>& done) {
      if (!done)
        log::warn("broker", "the default scheduler configuration was not written",
                  {{"error", done.error()}});
    });
  }

  void show_gauges() {
    options.metrics->show("eval_broker", broker_gauges(queue, blocked, now()));
    actor::send_self_after(self, telemetry::ServerMetrics::gauge_interval, ShowGauges{});
  }

  void due(std::uint64_t timer) {
    if (timer != round) return;
    armed.reset();
    for (const auto& id : queue.advance(now()))
      log::warn("broker", "the evaluation was not settled in time; delivering it again",
                {{"eval", id}});
    work();
  }

  actor::Answer<eval_broker::Done> done(const Result<>& outcome) {
    work();
    if (!outcome) return outcome.error();
    return eval_broker::Done{};
  }
};

BrokerSelf::behavior_type eval_broker_actor(BrokerState::Self self,
                                            std::shared_ptr<state::Store> store,
                                            raft::Proposer proposer,
                                            EvalBrokerOptions options) {
  auto& state = self->state;
  state.self = self;
  state.store = std::move(store);
  state.writes.emplace(self, std::move(proposer), access::own_work("eval_broker"));
  state.queue = cluster::EvalQueue{options.queue};
  state.random = Random{self->seed(options.random_seed)};
  state.options = options;
  state.show_gauges();
  actor::on_exit(self, [self] {
    self->state.refuse_waiters();
    self->quit();
  });
  actor::send_self_after(self, options.retry_failed_interval, RetryFailed{});

  return {
      [self](const eval_broker::Dequeue& msg) { return self->state.dequeue(msg); },
      [self](const eval_broker::Ack& msg) {
        auto& state = self->state;
        state.refusals.erase(msg.eval_id);
        return state.done(state.queue.ack(msg.eval_id, msg.token, state.now()));
      },
      [self](const eval_broker::Nack& msg) {
        auto& state = self->state;
        if (!msg.why.empty() && state.queue.outstanding(msg.eval_id) == msg.token)
          state.refusals.insert_or_assign(msg.eval_id, msg.why);
        return state.done(state.queue.nack(msg.eval_id, msg.token, state.now()));
      },
      [self](const eval_broker::PauseNack& msg) {
        return self->state.done(self->state.queue.pause_nack(msg.eval_id, msg.token));
      },
      [self](const eval_broker::ResumeNack& msg) {
        auto& state = self->state;
        return state.done(state.queue.resume_nack(msg.eval_id, msg.token, state.now()));
      },
      [self](eval_broker::GetStats) {
        const auto blocked = self->state.blocked.stats();
        return eval_broker::Stats{self->state.queue.stats(), blocked.blocked, blocked.escaped};
      },
      [self](const eval_broker::Withdraw& msg) { self->state.withdraw(msg.worker); },
      [self](const BatchApplied& msg) { self->state.applied(msg); },
      [self](Lead msg) { self->state.lead(msg.leads); },
      [self](Due msg) { self->state.due(msg.round); },
      [self](WaitOver msg) { self->state.wait_over(msg.waiter); },
      [self](RetryFailed) { self->state.retry_failed(); },
      [self](ShowGauges) { self->state.show_gauges(); },
      [self](const CancelAgain& msg) {
        if (msg.term == self->state.term) self->state.cancel(msg.ids, msg.why);
      },
  };
}

}  // namespace

EvalBroker spawn_eval_broker(const actor::Owner& owner,
                             std::shared_ptr<state::Store> store,
                             raft::Proposer proposer,
                             EvalBrokerOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, eval_broker_actor, std::move(store),
                                              std::move(proposer), options);
}

}  // namespace nomad::server
