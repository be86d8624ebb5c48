// Leadership as the leader's actors hear of it, and what an applied batch brings them.
#pragma once

#include <memory>
#include <vector>

#include "actors/core/actor.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

/// This server leads from now on, and its state holds everything that was ever acknowledged; or it
/// leads no more. Actors that keep derived state build it from a snapshot, or forget it.
struct Lead {
  using is_message = void;
  bool leads = false;
};

/// What a batch of commands came to, after it is visible in a snapshot.
struct BatchApplied {
  using is_message = void;
  std::vector<std::shared_ptr<const state::Outcome>> outcomes;
};

/// An actor that works on the leader only.
using LeaderDuty = actor::Interface<void(Lead)>;

}  // namespace nomad::server
