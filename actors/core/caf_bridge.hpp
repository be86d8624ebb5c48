// What of our terms CAF has its own for: errors, priorities, timeouts, handles. Included by this
// folder's sources alone.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/duration.hpp>
#include <caf/error.hpp>
#include <caf/message_id.hpp>

#include "actors/core/handle.hpp"
#include "actors/core/mail.hpp"
#include "actors/core/self.hpp"
#include "runtime/base/result.hpp"

template <>
struct caf::allowed_unsafe_message_type<nomad::actor::Mail> : std::true_type {};

namespace nomad::actor {

/// Our errors travel as CAF's, with the sentence as their context.
caf::error to_caf(const Error& err);

/// Recovers our error from CAF's; failures of CAF itself become `timeout`, `unavailable` or
/// `internal`. Asking a dead actor and asking an empty handle both are `unavailable`.
Error from_caf(const caf::error& err);

caf::duration to_caf(Timeout timeout);

caf::message_id to_caf(Priority priority);

caf::actor as_caf(const Ref& ref);

/// Without counting references, as CAF's handles would: whoever calls keeps the actor.
inline caf::abstract_actor* actor_of(caf::actor_control_block* at) {
  return at->get();
}

}  // namespace nomad::actor
