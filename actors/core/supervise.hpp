// Supervision: how an actor is spawned, watched and stopped. Every actor of the program is spawned
// by `spawn…` below, which points CAF's default, exit, down, error and exception handlers at our
// logger (CAF's own print to stdout, which belongs to the commands).
//
// The rules: every actor has an owner, whom its spawn site names, with what an exception in one of
// its handlers leads to (Policy). The owner hears of its end (`on_down`), and when the owner ends,
// whatever it owns is stopped, the youngest first, and so is who comes to it later. An exit message
// ends an actor, and is how owners stop theirs. An exception in a handler is a bug: whoever asked
// is answered with it, it is logged, and the policy follows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "actors/core/actor.hpp"
#include "actors/core/owner.hpp"

namespace nomad::actor {

/// An owned actor has ended, or has begun anew.
struct Down {
  Address source;          ///< Compare with `handle.address()`.
  bool crashed = false;    ///< Ended by a bug or an error, not by an exit message or normally.
  bool restarted = false;  ///< It goes on, with a new state, after a crash (Policy::restart).
  Error reason;            ///< Why, when `crashed`.
};

/// Calls `handler` for each owned actor that ends or begins anew. Call it in the behavior function.
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
  virtual Policy policy() const = 0;
  virtual void make(CafActor& actor) = 0;  ///< The state, where the actor is spawned.
  virtual Handlers begin() = 0;            ///< Called in the actor's own turn.
  virtual void forget() = 0;               ///< Destroys the state; `make` may follow.
};

enum class Thread : std::uint8_t { pooled, own };

Ref spawn_boot(const Owner& owner, std::unique_ptr<Boot> boot, Thread thread);

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

template <Policy policy_given, class Function>
class BootOf final : public Boot {
  using Parts = BehaviorFunction<Function>;
  using ActorSelf = typename Parts::ActorSelf;
  using Arguments = typename Parts::Arguments;

public:
  template <class... Args>
  explicit BootOf(Function function, Args&&... args)
      : function_(std::move(function)),
        arguments_(std::make_unique<Arguments>(std::forward<Args>(args)...)) {}

  const char* name() const override { return name_of<ActorSelf>(); }

  Policy policy() const override { return policy_given; }

  void make(CafActor& actor) override { self_.emplace(actor); }

  Handlers begin() override {
    const auto call = [this](auto&... args) {
      if constexpr (policy_given == Policy::restart)  // they are for the next incarnation, too
        return function_(&*self_, std::as_const(args)...);
      else
        return function_(&*self_, std::move(args)...);
    };
    auto handlers = std::apply(call, *arguments_).release();
    if constexpr (policy_given != Policy::restart) arguments_.reset();
    return handlers;
  }

  void forget() override { self_.reset(); }

private:
  Function function_;  // before the state: a behavior's lambdas may refer to its captures
  std::unique_ptr<Arguments> arguments_;  ///< Until they have been used for the last time.
  std::optional<ActorSelf> self_;
};

template <class Function>
using HandleOf = typename BehaviorFunction<Function>::Handle;

template <Policy policy, class Function, class... Args>
HandleOf<Function> spawn_as(const Owner& owner, Thread thread, Function function, Args&&... args) {
  return HandleOf<Function>{spawn_boot(
      owner,
      std::make_unique<BootOf<policy, Function>>(std::move(function), std::forward<Args>(args)...),
      thread)};
}

}  // namespace detail

/// Spawns an actor on the pool. `args` end when `function` has returned; one that may begin anew
/// keeps copies of them.
template <Policy policy = Policy::report, class Function, class... Args>
auto spawn(const Owner& owner, Function function, Args&&... args) {
  return detail::spawn_as<policy>(owner, Thread::pooled, std::move(function),
                                  std::forward<Args>(args)...);
}

/// The same with a thread of its own: for actors that block.
template <Policy policy = Policy::report, class Function, class... Args>
auto spawn_detached(const Owner& owner, Function function, Args&&... args) {
  return detail::spawn_as<policy>(owner, Thread::own, std::move(function),
                                  std::forward<Args>(args)...);
}

/// Makes `owner` the owner of `child`, which has none: for parts that are made before the whole.
void give(const Any& child, const Any& owner);

/// The owner of a process's actors: they report, and the first that crashes is told to `on_fatal`,
/// once, from the root's turn.
Any spawn_root(System& system, std::function<void(const Error&)> on_fatal);

}  // namespace nomad::actor
