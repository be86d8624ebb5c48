// Leadership as the leader's actors hear of it.
#pragma once

#include "actors/core/actor.hpp"

namespace nomad::server {

/// This server leads from now on, and its state holds everything that was ever acknowledged; or it
/// leads no more. Actors that keep derived state build it from a snapshot, or forget it.
struct Lead {
  using is_message = void;
  bool leads = false;
};

/// An actor that works on the leader only.
using LeaderDuty = actor::Interface<void(Lead)>;

}  // namespace nomad::server
