// BlockingPool: runs functions that block (making directories, reading /proc) off the actors'
// threads, and answers with what they return. It is what runs the functions of hooks.
//
// A few functions run at once. One that takes longer than `patience` gives up its place, so that
// slow ones (a download, a file system that hangs) hold up nobody: the next gets a thread of its
// own, up to `max_threads`. Threads beyond the few end when they have nothing to do.
//
// What computes for as long as its job likes (renderings) says whose it is: it has a few places of
// its own, and owners take turns (workload::ComputeQueue): a short one first, and then, on a thread
// that gives way to all others, a long one. When the pool ends, what computes is told so.
//
// Owns:   its threads, each an actor, and the functions that wait for one.
// Takes:  RunBlocking, answered when the function has returned. Steps of one caller may run at the
//         same time, so a caller that needs an order asks for the next one when the last is over.
// Parent: client, restart. Who waits for a step is told `unavailable`.
// Ends:   by the parent's exit message. A step that runs is finished first.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>

#include "actors/core/actor.hpp"
#include "runtime/workload/node/compute_queue.hpp"

namespace nomad::client {

namespace blocking {

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

/// What a step that computes for long may do.
struct Turn {
  /// Time of a processor; it gives up its place then. None: the last turn, to the step's own bound.
  std::optional<std::chrono::nanoseconds> most{};
  std::stop_token stopped{};
};

struct RunBlocking {
  using is_message = void;
  /// Nothing: the turn was too short. It is called again then, with another one.
  std::function<Result<std::optional<Outcome>>(const Turn&)> run;
  /// Of a step that computes for long: the job that it is for.
  std::string owner{};
};

template <class T>
Outcome boxed(T value) {
  return {std::make_shared<T>(std::move(value))};
}

/// Boxes a function that returns Result<> or Result<T>.
template <class Function>
RunBlocking make(Function function) {
  return {[function = std::move(function)](const Turn&) -> Result<std::optional<Outcome>> {
    auto outcome = function();
    if (!outcome) return outcome.error();
    if constexpr (std::is_void_v<typename decltype(outcome)::value_type>)
      return std::optional{Outcome{}};
    else
      return std::optional{boxed(std::move(*outcome))};
  }};
}

/// Boxes a function of a Turn that returns Result<std::optional<T>>, as `run` does.
template <class Function>
RunBlocking make_computing(std::string owner, Function function) {
  const auto run
      = [function = std::move(function)](const Turn& turn) -> Result<std::optional<Outcome>> {
    auto outcome = function(turn);
    if (!outcome) return outcome.error();
    if (!*outcome) return std::optional<Outcome>{};
    return std::optional{boxed(std::move(**outcome))};
  };
  return {run, std::move(owner)};
}

}  // namespace blocking

using BlockingPool = actor::Interface<blocking::Outcome(blocking::RunBlocking)>;

struct BlockingPoolLimits {
  std::size_t slots = 2;          ///< At least 1.
  std::size_t max_threads = 256;  ///< With those that are slow.
  std::chrono::milliseconds patience{250};
  workload::ComputeQueue::Limits computing{};  ///< For steps with an owner.
  std::chrono::milliseconds first_turn{50};    ///< Of those; time of a processor.
};

BlockingPool spawn_blocking_pool(const actor::Owner& owner, BlockingPoolLimits limits = {});

/// Runs each step within its own message: for tests, which have one thread.
BlockingPool spawn_inline_blocking_pool(const actor::Owner& owner);

}  // namespace nomad::client
