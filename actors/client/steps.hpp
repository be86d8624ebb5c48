// StepRunner: runs functions that block (making directories, reading /proc) off the actors'
// threads, and answers with what they return. It is the one generic actor behind every hook that is
// no more than a function.
//
// Owns:   a few threads, each an actor; a dispatcher hands each step to the one with the least
//         work.
// Takes:  RunStep, answered when the function has returned. Steps of one caller may run at the
//         same time, so a caller that needs an order asks for the next one when the last is over.
// Parent: client, restart. Who waits for a step is told `unavailable`.
// Ends:   by the parent's exit message. A step that runs is finished first.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>

#include "actors/core/actor.hpp"

namespace nomad::client {

namespace step {

/// What the function gave, in a box.
struct Outcome {
  using is_message = void;
  std::shared_ptr<void> value;

  /// `T` has to be what the function returned in its Result.
  template <class T>
  T& as() const {
    return *static_cast<T*>(value.get());
  }
};

struct RunStep {
  using is_message = void;
  std::function<Result<Outcome>()> run;
};

/// Boxes a function that returns Result<> or Result<T>.
template <class Function>
RunStep make(Function function) {
  return {[function = std::move(function)]() -> Result<Outcome> {
    auto outcome = function();
    if (!outcome) return outcome.error();
    if constexpr (std::is_void_v<typename decltype(outcome)::value_type>)
      return Outcome{};
    else
      return Outcome{std::make_shared<typename decltype(outcome)::value_type>(std::move(*outcome))};
  }};
}

}  // namespace step

using StepRunner = actor::Interface<step::Outcome(step::RunStep)>;

/// `threads` is at least 1.
StepRunner spawn_step_runner(const actor::Owner& owner, std::size_t threads);

/// Runs each step within its own message: for tests, which have one thread.
StepRunner spawn_inline_step_runner(const actor::Owner& owner);

}  // namespace nomad::client
