#include "actors/client/steps.hpp"

#include <algorithm>
#include <vector>

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

struct RunnerState {
  static constexpr const char* name = "step_runner";

  struct Worker {
    StepRunner handle;
    std::size_t busy = 0;  ///< Steps handed to it and not answered.
  };

  std::vector<Worker> workers;
};

StepRunner::behavior_type step_runner(StepRunner::stateful_pointer<RunnerState> self,
                                      std::size_t threads) {
  for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i)
    self->state.workers.push_back(
        {actor::spawn_detached<actor::Policy::restart>(self, step_worker), 0});

  return {[self](step::RunStep& msg) -> actor::Answer<step::Outcome> {
    auto& workers = self->state.workers;
    const auto idlest = static_cast<std::size_t>(
        std::min_element(workers.begin(), workers.end(),
                         [](const auto& a, const auto& b) { return a.busy < b.busy; })
        - workers.begin());
    ++workers[idlest].busy;
    auto promise = self->make_response_promise<step::Outcome>();
    // A step has no bound of its own: whoever asked has a timeout.
    self->request(workers[idlest].handle, actor::infinite, std::move(msg))
        .then(
            [self, promise, idlest](step::Outcome& outcome) mutable {
              --self->state.workers[idlest].busy;
              promise.deliver(std::move(outcome));
            },
            [self, promise, idlest](const Error& err) mutable {
              --self->state.workers[idlest].busy;
              promise.deliver(std::move(err));
            });
    return promise;
  }};
}

}  // namespace

StepRunner spawn_step_runner(const actor::Owner& owner, std::size_t threads) {
  return actor::spawn<actor::Policy::restart>(owner, step_runner, threads);
}

StepRunner spawn_inline_step_runner(const actor::Owner& owner) {
  return actor::spawn(owner, step_worker);
}

}  // namespace nomad::client
