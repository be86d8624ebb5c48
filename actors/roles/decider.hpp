// Decider: who decides for a job whose type is a plugin's. Asked with what a scheduler's Question
// has made; answered with the decision, or with the error that says why there is none.
#pragma once

#include "actors/core/actor.hpp"
#include "runtime/object/object.hpp"
#include "schema/scheduling.capnp.h"

namespace nomad::server {

namespace decider {

struct Decide {
  using is_message = void;
  Object<schema::plugin::Scheduling> question;
};

struct Decided {
  using is_message = void;
  Object<schema::plugin::Decision> decision;
};

}  // namespace decider

using Decider = actor::Interface<decider::Decided(decider::Decide)>;

}  // namespace nomad::server
