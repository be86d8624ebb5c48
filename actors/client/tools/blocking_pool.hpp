// BlockingPool: runs functions that block (making directories, reading /proc) off the actors'
// threads, and answers with what they return. It is what runs the functions of hooks.
//
// A few functions run at once. One that takes longer than `patience` gives up its place, so that
// slow ones (a download, a file system that hangs) hold up nobody: the next gets a thread of its
// own, up to `max_threads`. Threads beyond the few end when they have nothing to do.
//
// What computes for as long as its job likes (renderings) says whose it is: it has a few places of
// its own, which one owner can't have all, and owners take turns.
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
#include <string>
#include <type_traits>

#include "actors/core/actor.hpp"

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

struct RunBlocking {
  using is_message = void;
  std::function<Result<Outcome>()> run;
  /// Of a step that computes for long: the job that it is for.
  std::string owner{};
};

/// Boxes a function that returns Result<> or Result<T>.
template <class Function>
RunBlocking make(Function function, std::string owner = {}) {
  const auto run = [function = std::move(function)]() -> Result<Outcome> {
    auto outcome = function();
    if (!outcome) return outcome.error();
    if constexpr (std::is_void_v<typename decltype(outcome)::value_type>)
      return Outcome{};
    else
      return Outcome{std::make_shared<typename decltype(outcome)::value_type>(std::move(*outcome))};
  };
  return {run, std::move(owner)};
}

}  // namespace blocking

using BlockingPool = actor::Interface<blocking::Outcome(blocking::RunBlocking)>;

struct BlockingPoolLimits {
  std::size_t places = 2;         ///< At least 1.
  std::size_t max_threads = 256;  ///< With those that are slow.
  std::chrono::milliseconds patience{250};
  std::size_t long_places = 4;  ///< For steps with an owner.
  std::size_t of_one_owner = 2;
};

BlockingPool spawn_blocking_pool(const actor::Owner& owner, BlockingPoolLimits limits = {});

/// Runs each step within its own message: for tests, which have one thread.
BlockingPool spawn_inline_blocking_pool(const actor::Owner& owner);

}  // namespace nomad::client
