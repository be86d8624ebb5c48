// Supervision: how an actor is spawned, watched and stopped. Every actor of the program is spawned
// by `spawn…` below, which points CAF's default, exit, down, error and exception handlers at our
// logger (CAF's own print to stdout, which belongs to the commands).
//
// The rules: whoever spawns a child monitors it (`spawn_child`) and states in `on_down` what its
// death means; an exit message ends an actor, with or without children of its own, and is how
// parents stop children; an exception in a handler is a bug, ends the actor and reaches the parent
// as a `Down` with an error.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "actors/core/actor.hpp"

namespace nomad::actor {

/// A monitored actor has ended.
struct Down {
  Address source;        ///< Compare with `handle.address()`.
  bool crashed = false;  ///< Ended by a bug or an error, not by an exit message or normally.
  Error reason;          ///< Why, when `crashed`.
};

/// Calls `handler` for each monitored actor that ends. Call it in the behavior function.
void on_down(Self* self, std::function<void(const Down&)> handler);

/// Calls `handler` when an exit message arrives instead of quitting, so that an actor can finish
/// its work first; the handler must lead to `self->quit()`. A kill ends the actor regardless.
void on_exit(Self* self, std::function<void()> handler);

/// Ends the actor behind `handle` by an exit message; an empty handle is fine. Thread-safe.
void stop(const Ref& actor);

/// The same, but the actor's own exit handler is not asked.
void kill(const Ref& actor);

template <class... Signatures>
void stop(const Interface<Signatures...>& handle) {
  stop(handle.ref());
}

template <class... Signatures>
void kill(const Interface<Signatures...>& handle) {
  kill(handle.ref());
}

/// What an actor is before it runs: its name, its state and its behavior function.
class Boot {
public:
  virtual ~Boot() = default;
  virtual const char* name() const = 0;
  virtual void make(CafActor& actor) = 0;  ///< The state; called once, where the actor is spawned.
  virtual Handlers begin() = 0;            ///< Called once, in the actor's first turn.
};

enum class Thread { pooled, own };

Ref spawn_boot(System& system, std::unique_ptr<Boot> boot, Thread thread);

/// Whether the parent hears of its end (`on_down`), or ends and is ended with it.
enum class Tie { monitored, linked };

Ref spawn_boot(Self* parent, std::unique_ptr<Boot> boot, Thread thread, Tie tie);

namespace detail {

/// Takes a behavior function `Behavior (Self*, Params...)` apart, whatever kind of callable it is.
template <class Function>
struct BehaviorFunction : BehaviorFunction<decltype(&Function::operator())> {};

template <class SelfType, class Returned, class... Params>
struct BehaviorFunction<Returned (*)(SelfType*, Params...)> {
  using ActorSelf = SelfType;
  using Handle = typename SelfType::Handle;
  using Arguments = std::tuple<std::decay_t<Params>...>;
};

template <class Class, class SelfType, class Returned, class... Params>
struct BehaviorFunction<Returned (Class::*)(SelfType*, Params...) const>
    : BehaviorFunction<Returned (*)(SelfType*, Params...)> {};

template <class Class, class SelfType, class Returned, class... Params>
struct BehaviorFunction<Returned (Class::*)(SelfType*, Params...)>
    : BehaviorFunction<Returned (*)(SelfType*, Params...)> {};

template <class ActorSelf>
constexpr const char* name_of() {
  if constexpr (requires { &ActorSelf::state; })
    return decltype(ActorSelf::state)::name;
  else
    return "actor";
}

template <class Function>
class BootOf final : public Boot {
  using Parts = BehaviorFunction<Function>;
  using ActorSelf = typename Parts::ActorSelf;
  using Arguments = typename Parts::Arguments;

public:
  template <class... Args>
  explicit BootOf(Function function, Args&&... args)
      : function_(std::move(function)), arguments_(Arguments{std::forward<Args>(args)...}) {}

  const char* name() const override { return name_of<ActorSelf>(); }

  void make(CafActor& actor) override { self_.emplace(actor); }

  Handlers begin() override {
    return std::apply([this](auto&... args) { return function_(&*self_, std::move(args)...); },
                      arguments_)
        .release();
  }

private:
  Function function_;  // before the state: a behavior's lambdas may refer to its captures
  Arguments arguments_;
  std::optional<ActorSelf> self_;
};

template <class Function, class... Args>
std::unique_ptr<Boot> boot(Function function, Args&&... args) {
  return std::make_unique<BootOf<Function>>(std::move(function), std::forward<Args>(args)...);
}

template <class Function>
using HandleOf = typename BehaviorFunction<Function>::Handle;

}  // namespace detail

/// Spawns a top-level actor on the pool. The caller keeps the handle and stops it.
template <class Function, class... Args>
auto spawn(System& system, Function function, Args&&... args) {
  return detail::HandleOf<Function>{spawn_boot(
      system, detail::boot(std::move(function), std::forward<Args>(args)...), Thread::pooled)};
}

/// The same with a thread of its own: for actors that block.
template <class Function, class... Args>
auto spawn_detached(System& system, Function function, Args&&... args) {
  return detail::HandleOf<Function>{spawn_boot(
      system, detail::boot(std::move(function), std::forward<Args>(args)...), Thread::own)};
}

/// Spawns an actor that `parent` monitors; its end arrives at `on_down`.
template <class Function, class... Args>
auto spawn_child(Self* parent, Function function, Args&&... args) {
  return detail::HandleOf<Function>{
      spawn_boot(parent, detail::boot(std::move(function), std::forward<Args>(args)...),
                 Thread::pooled, Tie::monitored)};
}

/// The same with a thread of its own.
template <class Function, class... Args>
auto spawn_detached_child(Self* parent, Function function, Args&&... args) {
  return detail::HandleOf<Function>{
      spawn_boot(parent, detail::boot(std::move(function), std::forward<Args>(args)...),
                 Thread::own, Tie::monitored)};
}

/// Spawns an actor with a thread of its own that makes no sense without `parent`, nor `parent`
/// without it.
template <class Function, class... Args>
auto spawn_detached_twin(Self* parent, Function function, Args&&... args) {
  return detail::HandleOf<Function>{
      spawn_boot(parent, detail::boot(std::move(function), std::forward<Args>(args)...),
                 Thread::own, Tie::linked)};
}

}  // namespace nomad::actor
