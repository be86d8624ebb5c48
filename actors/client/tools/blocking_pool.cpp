#include "actors/client/tools/blocking_pool.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include <unistd.h>

#include "actors/core/supervise.hpp"
#include "runtime/base/threads/processor_time.hpp"

namespace nomad::client {
namespace {

/// Below what everything else in the agent has: of a thread with a long turn.
constexpr int background_nice = 10;

/// A step, or a turn of one.
struct RunTurn {
  using is_message = void;
  blocking::RunBlocking step;
  blocking::Turn turn{};
  bool gives_way = false;
};

struct TurnOver {
  using is_message = void;
  Result<std::optional<blocking::Outcome>> outcome;
  std::chrono::nanoseconds used{0};  ///< Of a processor.
};

using StepWorker = actor::Interface<TurnOver(RunTurn)>;

struct WorkerState {
  static constexpr const char* name = "step_worker";
};

StepWorker::behavior_type step_worker(StepWorker::stateful_pointer<WorkerState>) {
  return {[](const RunTurn& msg) -> actor::Answer<TurnOver> {
    if (msg.gives_way) static_cast<void>(::nice(background_nice));  // Of this thread alone.
    const auto begun = processor_time();
    auto outcome = msg.step.run(msg.turn);
    return TurnOver{std::move(outcome), processor_time() - begun};
  }};
}

BlockingPool::behavior_type inline_worker(BlockingPool::stateful_pointer<WorkerState>) {
  return {[](const blocking::RunBlocking& msg) -> actor::Answer<blocking::Outcome> {
    auto outcome = msg.run({});
    if (!outcome) return outcome.error();
    return std::move(**outcome);
  }};
}

/// A step may have been slow for long enough.
struct Look {
  using is_message = void;
};

using BlockingPoolSelf = actor::WithInternal<BlockingPool, void(Look)>;

class BlockingPoolState {
public:
  static constexpr const char* name = "blocking_pool";

  explicit BlockingPoolState(BlockingPoolSelf::pointer self) : self_{self} {}

  BlockingPoolState(const BlockingPoolState&) = delete;
  BlockingPoolState& operator=(const BlockingPoolState&) = delete;

  ~BlockingPoolState() { ends_.request_stop(); }

  void init(BlockingPoolLimits limits) {
    limits_ = limits;
    queue_ = workload::ComputeQueue{limits.computing};
    limits_.slots = std::max<std::size_t>(limits.slots, 1);
    while (threads_.size() < limits_.slots)
      add_thread();
  }

  actor::Answer<blocking::Outcome> run(blocking::RunBlocking& msg) {
    auto promise = self_->make_response_promise<blocking::Outcome>();
    if (msg.owner.empty()) {
      waiting_.push_back({std::move(msg), promise});
    } else {
      queue_.add(++last_ticket_, msg.owner);
      computing_.emplace(last_ticket_, Waiting{std::move(msg), promise});
    }
    hand_out();
    return promise;
  }

  void look() {
    looks_ = false;
    hand_out();
  }

private:
  struct Thread {
    StepWorker handle;
    bool busy = false;
    std::optional<workload::ComputeQueue::Turn> computes{};
    std::chrono::steady_clock::time_point since{};  ///< When it became busy.
  };

  struct Waiting {
    blocking::RunBlocking step;
    actor::Promise<blocking::Outcome> promise;
  };

  std::chrono::nanoseconds now() const { return self_->now().time_since_epoch(); }

  std::size_t add_thread() {
    threads_[++last_thread_].handle
        = actor::spawn_detached<actor::Policy::restart>(self_, step_worker);
    return last_thread_;
  }

  bool is_slow(const Thread& thread) const {
    return thread.busy && (thread.computes || self_->now() - thread.since >= limits_.patience);
  }

  std::size_t quick_threads() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        threads_, [this](const auto& entry) { return !is_slow(entry.second); }));
  }

  auto idle_thread() {
    return std::ranges::find_if(threads_, [](const auto& entry) { return !entry.second.busy; });
  }

  void hand_out_turns() {
    while (auto turn = queue_.next(now())) {
      const auto idle = turn->is_long ? threads_.end() : idle_thread();
      const auto number = idle != threads_.end() ? idle->first : add_thread();
      const auto& step = computing_.at(turn->ticket).step;
      RunTurn order{
          .step = step, .turn = {.stopped = ends_.get_token()}, .gives_way = turn->is_long};
      if (!turn->is_long) order.turn.most = limits_.first_turn;
      threads_.at(number).computes = std::move(*turn);
      hand_to(number, std::move(order), [this, number](TurnOver over) {
        turn_over(*std::exchange(threads_.at(number).computes, {}), std::move(over));
      });
    }
  }

  void turn_over(const workload::ComputeQueue::Turn& turn, TurnOver over) {
    const bool unfinished = over.outcome && !*over.outcome;
    queue_.over(turn, over.used, unfinished, now());
    if (!unfinished) answer(computing_.extract(turn.ticket).mapped().promise, over.outcome);
  }

  void hand_out() {
    hand_out_turns();
    while (!waiting_.empty()) {
      const auto idle = idle_thread();
      if (idle == threads_.end()
          && (quick_threads() >= limits_.slots || threads_.size() >= limits_.max_threads)) {
        look_later();
        return;
      }
      auto next = std::move(waiting_.front());
      waiting_.pop_front();
      hand_to(idle != threads_.end() ? idle->first : add_thread(), {.step = std::move(next.step)},
              [promise = next.promise](TurnOver over) mutable { answer(promise, over.outcome); });
    }
  }

  template <class Then>
  void hand_to(std::size_t number, RunTurn order, Then then) {
    auto& thread = threads_.at(number);
    thread.busy = true;
    thread.since = self_->now();
    const bool was_last = order.gives_way;  // Its thread is slow for good.
    // A step has no bound of its own: whoever asked has a timeout.
    self_->request(thread.handle, actor::infinite, std::move(order))
        .then(
            [this, number, was_last, then](TurnOver& outcome) mutable {
              then(std::move(outcome));
              over(number, was_last);
            },
            [this, number, was_last, then](const Error& err) mutable {
              then(TurnOver{.outcome = err});
              over(number, was_last);
            });
  }

  static void answer(actor::Promise<blocking::Outcome> promise,
                     Result<std::optional<blocking::Outcome>>& outcome) {
    if (!outcome) return promise.deliver(outcome.error());
    promise.deliver(std::move(**outcome));
  }

  void over(std::size_t number, bool was_last) {
    const auto found = threads_.find(number);
    found->second.busy = false;
    if (was_last || (waiting_.empty() && quick_threads() > limits_.slots)) {
      actor::stop(found->second.handle);
      threads_.erase(found);
    }
    hand_out();
  }

  void look_later() {
    if (std::exchange(looks_, true)) return;
    actor::send_self_after(self_, limits_.patience, Look{});
  }

  BlockingPoolSelf::pointer self_;
  BlockingPoolLimits limits_;
  std::map<std::size_t, Thread> threads_;  ///< By a number that only grows.
  std::size_t last_thread_ = 0;
  std::deque<Waiting> waiting_;
  workload::ComputeQueue queue_{workload::ComputeQueue::Limits{}};
  std::map<std::uint64_t, Waiting> computing_;  ///< By their tickets, with those that run.
  std::uint64_t last_ticket_ = 0;
  std::stop_source ends_;
  bool looks_ = false;
};

BlockingPoolSelf::behavior_type blocking_pool(
    BlockingPoolSelf::stateful_pointer<BlockingPoolState> self, BlockingPoolLimits limits) {
  self->state.init(limits);
  return {
      [self](blocking::RunBlocking& msg) { return self->state.run(msg); },
      [self](Look) { self->state.look(); },
  };
}

}  // namespace

BlockingPool spawn_blocking_pool(const actor::Owner& owner, BlockingPoolLimits limits) {
  return actor::spawn<actor::Policy::restart>(owner, blocking_pool, limits);
}

BlockingPool spawn_inline_blocking_pool(const actor::Owner& owner) {
  return actor::spawn(owner, inline_worker);
}

}  // namespace nomad::client
