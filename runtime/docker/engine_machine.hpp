// EngineMachine: what the machines of this folder have in common. What happened goes into a machine
// as calls; what to do about it comes out of `take`: questions to the engine, timers, and what the
// machine is about. No I/O, no clock, no thread, no actor.
//
// Every action that waits for an answer carries a round, which the answer repeats; rounds rise. An
// answer to a round that nobody waits for is late, or there twice, and is ignored.
//
// May depend on: runtime/base.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/docker/engine.hpp"

namespace nomad::docker {

namespace engine_action {

using Round = std::uint64_t;

/// Answer: `answered`, within the time. Nobody listens if the round is 0; 0 ms are for ever.
struct Ask {
  Round round;
  EngineRequest request;
  std::chrono::milliseconds timeout;
};

/// The answer is not wanted any more.
struct Withdraw {
  Round round;
};

/// Answer: `time_over`, after `delay`.
struct Wait {
  Round round;
  Nanoseconds delay;
};

/// A line for the agent's log.
struct LogWarning {
  std::string text;
  std::string error{};
  std::string image{};      ///< That it is about; empty: none.
  std::string container{};  ///< Likewise.
};

}  // namespace engine_action

/// Whether `round` is the one that is waited for, which ends the waiting; 0: nothing is.
bool ends_wait(engine_action::Round& awaited, engine_action::Round round);

/// `Action` is a variant that has engine_action's.
template <class Action>
class EngineMachine {
public:
  using Round = engine_action::Round;

  /// What to do since the last call, in this order. To be called after every event.
  std::vector<Action> take() { return std::exchange(actions_, {}); }

protected:
  void act(Action action) { actions_.push_back(std::move(action)); }

  Round next_round() { return ++rounds_; }

  // Of a life that waits for one thing at a time.

  /// Whether the life waits for this answer, which ends the waiting.
  bool is_current(Round round) { return ends_wait(round_, round); }

  Round next() { return round_ = next_round(); }

  void ask(EngineRequest request, std::chrono::milliseconds timeout = engine_patience) {
    act(engine_action::Ask{next(), std::move(request), timeout});
  }

  void wait(Nanoseconds delay) { act(engine_action::Wait{next(), delay}); }

  Round round_ = 0;  ///< Of the life; 0: nothing is waited for.

private:
  std::vector<Action> actions_;
  Round rounds_ = 0;  ///< The newest.
};

/// Whether the engine is away, so that nothing can be said of what it has or has done.
bool is_away(const Error& err);

/// "/containers/web": `container` is an id or a name.
std::string container_path(std::string_view container);

EngineRequest creation_of(std::string_view name, std::string body);

/// How the container is: `read_container`.
EngineRequest inspection_of(std::string_view container);

Result<Container> container_of(const EngineOutcome& outcome);

/// "" for one that is not there.
std::string label_of(const Container& container, const char* name);

/// Removes the container and its volumes, whatever it does.
EngineRequest removal_of(std::string_view container);

}  // namespace nomad::docker
