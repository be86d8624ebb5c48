#include "actors/client/tools/steps.hpp"

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

StepRunner::behavior_type step_worker(StepRunner::stateful_pointer<WorkerState>) {
  return {[](const step::RunStep& msg) -> actor::Answer<step::Outcome> {
    return actor::answer(msg.run());
  }};
}

/// A step may have been slow for long enough.
struct Look {
  using is_message = void;
};

using StepRunnerSelf = actor::WithInternal<StepRunner, void(Look)>;

class StepRunnerState {
public:
  static constexpr const char* name = "step_runner";

  explicit StepRunnerState(StepRunnerSelf::pointer self) : self_{self} {}

  void init(StepLimits limits) {
    limits_ = limits;
    limits_.places = std::max<std::size_t>(limits.places, 1);
    while (threads_.size() < limits_.places)
      add_thread();
  }

  actor::Answer<step::Outcome> run(step::RunStep& msg) {
    auto promise = self_->make_response_promise<step::Outcome>();
    waiting_.push_back({std::move(msg), promise});
    hand_out();
    return promise;
  }

  void look() {
    looks_ = false;
    hand_out();
  }

private:
  struct Thread {
    StepRunner handle;
    bool busy = false;
    std::chrono::steady_clock::time_point since{};  ///< When it became busy.
  };

  struct Waiting {
    step::RunStep step;
    actor::Promise<step::Outcome> promise;
  };

  std::size_t add_thread() {
    threads_[++last_thread_].handle
        = actor::spawn_detached<actor::Policy::restart>(self_, step_worker);
    return last_thread_;
  }

  bool is_slow(const Thread& thread) const {
    return thread.busy && self_->now() - thread.since >= limits_.patience;
  }

  std::size_t quick_threads() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        threads_, [this](const auto& entry) { return !is_slow(entry.second); }));
  }

  void hand_out() {
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
    thread.since = self_->now();
    // A step has no bound of its own: whoever asked has a timeout.
    self_->request(thread.handle, actor::infinite, std::move(next.step))
        .then(
            [this, number, promise = next.promise](step::Outcome& outcome) {
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

  StepRunnerSelf::pointer self_;
  StepLimits limits_;
  std::map<std::size_t, Thread> threads_;  ///< By a number that only grows.
  std::size_t last_thread_ = 0;
  std::deque<Waiting> waiting_;
  bool looks_ = false;
};

StepRunnerSelf::behavior_type step_runner(StepRunnerSelf::stateful_pointer<StepRunnerState> self,
                                          StepLimits limits) {
  self->state.init(limits);
  return {
      [self](step::RunStep& msg) { return self->state.run(msg); },
      [self](Look) { self->state.look(); },
  };
}

}  // namespace

StepRunner spawn_step_runner(const actor::Owner& owner, StepLimits limits) {
  return actor::spawn<actor::Policy::restart>(owner, step_runner, limits);
}

StepRunner spawn_inline_step_runner(const actor::Owner& owner) {
  return actor::spawn(owner, step_worker);
}

}  // namespace nomad::client
