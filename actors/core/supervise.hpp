// Supervision: how an actor is spawned, watched and stopped. Every actor of the program is spawned
// by `spawn…` below, which points CAF's default, exit, down, error and exception handlers at our
// logger (CAF's own print to stdout, which belongs to the commands).
//
// The rules: whoever spawns a child monitors it (`spawn_child`) and states in `on_down` what its
// death means; an exit message ends an actor, with or without children of its own, and is how
// parents stop children; an exception in a handler is a bug, ends the actor and reaches the parent
// as a `Down` with an error.
#pragma once

#include <exception>
#include <functional>

#include <caf/actor_system.hpp>
#include <caf/scheduled_actor.hpp>

#include "actors/core/actor.hpp"

namespace nomad::actor {

/// A monitored actor has ended.
struct Down {
  caf::actor_addr source;  ///< Compare with `handle.address()`.
  bool crashed = false;    ///< Ended by a bug or an error, not by an exit message or normally.
  Error reason;            ///< Why, when `crashed`.
};

/// Points the handlers of `self` at the logger. `spawn…` calls it.
void supervise(caf::scheduled_actor* self);

/// Calls `handler` for each monitored actor that ends. Call it in the behavior function.
void on_down(caf::scheduled_actor* self, std::function<void(const Down&)> handler);

/// Calls `handler` when an exit message arrives instead of quitting, so that an actor can finish
/// its work first; the handler must lead to `self->quit()`. A kill ends the actor regardless.
void on_exit(caf::scheduled_actor* self, std::function<void()> handler);

/// Ends the actor behind `handle` by an exit message; an empty handle is fine. Thread-safe.
template <class Handle>
void stop(const Handle& handle) {
  if (handle) caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
}

namespace detail {

/// The behavior function `fun` with `supervise` before it.
template <class Self, class Behavior, class... Params>
auto supervised(Behavior (*fun)(Self*, Params...)) {
  return [fun](Self* self, Params... params) -> Behavior {
    supervise(self);
    return fun(self, std::move(params)...);
  };
}

}  // namespace detail

/// Spawns a top-level actor on the pool. The caller keeps the handle and stops it.
template <class Self, class Behavior, class... Params, class... Args>
auto spawn(caf::actor_system& system, Behavior (*fun)(Self*, Params...), Args&&... args) {
  return system.spawn(detail::supervised(fun), std::forward<Args>(args)...);
}

/// The same with a thread of its own: for actors that block.
template <class Self, class Behavior, class... Params, class... Args>
auto spawn_detached(caf::actor_system& system, Behavior (*fun)(Self*, Params...), Args&&... args) {
  return system.spawn<caf::detached>(detail::supervised(fun), std::forward<Args>(args)...);
}

/// Spawns an actor that `parent` monitors; its end arrives at `on_down`.
template <class Parent, class Self, class Behavior, class... Params, class... Args>
auto spawn_child(Parent* parent, Behavior (*fun)(Self*, Params...), Args&&... args) {
  return parent->template spawn<caf::monitored>(detail::supervised(fun),
                                                std::forward<Args>(args)...);
}

/// The same with a thread of its own.
template <class Parent, class Self, class Behavior, class... Params, class... Args>
auto spawn_detached_child(Parent* parent, Behavior (*fun)(Self*, Params...), Args&&... args) {
  return parent->template spawn<caf::monitored + caf::detached>(detail::supervised(fun),
                                                                std::forward<Args>(args)...);
}

}  // namespace nomad::actor
