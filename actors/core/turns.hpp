// Turns of actors: what is posted to them runs in the actor as a handler of a message of its own
// does, among the messages that it gets. It may use the actor's state: once the actor has ended, or
// has begun anew, nothing is run. What waits is bounded by what its actor has asked for.
#pragma once

#include <chrono>

#include "actors/core/self.hpp"
#include "runtime/base/turns.hpp"

namespace nomad::actor {

Turns turns_of(const Self* self, Priority priority = Priority::normal);

/// Runs `action` in a turn of the actor after `delay`. As `send_self_after`.
Timer post_after(Self* self, std::chrono::nanoseconds delay, Turns::Action action);

}  // namespace nomad::actor
