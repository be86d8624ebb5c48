#include "actors/client/tools/blocking_pool.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "actors/core/supervise.hpp"

namespace nomad::client {
namespace {

struct WorkerState {
  static constexpr const char* name = "step_worker";
};

BlockingPool::behavior_type step_worker(BlockingPool::stateful_pointer<WorkerState>) {
  return {[](const blocking::RunBlocking& msg) -> actor::Answer<blocking::Outcome> {
    return actor::answer(msg.run());
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

  void init(BlockingPoolLimits limits) {
    limits_ = limits;
    limits_.places = std::max<std::size_t>(limits.places, 1);
    while (threads_.size() < limits_.places)
      add_thread();
  }

  actor::Answer<blocking::Outcome> run(blocking::RunBlocking& msg) {
    auto promise = self_->make_response_promise<blocking::Outcome>();
    const bool is_long = !msg.owner.empty();
    (is_long ? waiting_long_ : waiting_).push_back({std::move(msg), promise});
    hand_out();
    return promise;
  }

  void look() {
    looks_ = false;
    hand_out();
  }

private:
  struct Thread {
    BlockingPool handle;
    bool busy = false;
    std::string owner{};                            ///< Of the long step that it runs.
    std::chrono::steady_clock::time_point since{};  ///< When it became busy.
  };

  struct Waiting {
    blocking::RunBlocking step;
    actor::Promise<blocking::Outcome> promise;
  };

  std::size_t add_thread() {
    threads_[++last_thread_].handle
        = actor::spawn_detached<actor::Policy::restart>(self_, step_worker);
    return last_thread_;
  }

  bool is_slow(const Thread& thread) const {
    return thread.busy
           && (!thread.owner.empty() || self_->now() - thread.since >= limits_.patience);
  }

  std::size_t quick_threads() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        threads_, [this](const auto& entry) { return !is_slow(entry.second); }));
  }

  std::size_t idle_thread() {
    const auto idle
        = std::ranges::find_if(threads_, [](const auto& entry) { return !entry.second.busy; });
    return idle != threads_.end() ? idle->first : add_thread();
  }

  std::size_t running_of(std::string_view owner) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        threads_, [owner](const auto& entry) { return entry.second.owner == owner; }));
  }

  std::size_t running_long() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        threads_, [](const auto& entry) { return !entry.second.owner.empty(); }));
  }

  /// The oldest of an owner that has the fewest places.
  void hand_out_long() {
    while (!waiting_long_.empty() && running_long() < limits_.long_places) {
      const auto next = std::ranges::min_element(waiting_long_, {}, [this](const Waiting& waiting) {
        return running_of(waiting.step.owner);
      });
      if (running_of(next->step.owner) >= limits_.of_one_owner) return;
      auto step = std::move(*next);
      waiting_long_.erase(next);
      hand_to(idle_thread(), std::move(step));
    }
  }

  void hand_out() {
    hand_out_long();
    while (!waiting_.empty()) {
      auto idle
          = std::ranges::find_if(threads_, [](const auto& entry) { return !entry.second.busy; });
      if (idle == threads_.end()) {
        if (quick_threads() >= limits_.places || threads_.size() >= limits_.max_threads) {
          look_later();
          return;
        }
        idle = threads_.find(add_thread());
      }
      auto next = std::move(waiting_.front());
      waiting_.pop_front();
      hand_to(idle->first, std::move(next));
    }
  }

  void hand_to(std::size_t number, Waiting next) {
    auto& thread = threads_.at(number);
    thread.busy = true;
    thread.owner = next.step.owner;
    thread.since = self_->now();
    // A step has no bound of its own: whoever asked has a timeout.
    self_->request(thread.handle, actor::infinite, std::move(next.step))
        .then(
            [this, number, promise = next.promise](blocking::Outcome& outcome) {
              promise.deliver(std::move(outcome));
              over(number);
            },
            [this, number, promise = next.promise](const Error& err) {
              promise.deliver(err);
              over(number);
            });
  }

  void over(std::size_t number) {
    const auto found = threads_.find(number);
    found->second.busy = false;
    found->second.owner.clear();
    if (waiting_.empty() && quick_threads() > limits_.places) {
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
  std::deque<Waiting> waiting_long_;
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
  return actor::spawn(owner, step_worker);
}

}  // namespace nomad::client
