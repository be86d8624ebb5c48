// Whether a task is not to run, by its schedule or by order.
#pragma once

#include "schema/alloc.capnp.h"

namespace nomad {

constexpr bool is_pause(schema::TaskScheduleState state) {
  return state == schema::TaskScheduleState::SCHEDULED_PAUSE
         || state == schema::TaskScheduleState::FORCE_PAUSE;
}

}  // namespace nomad
