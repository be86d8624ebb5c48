// EventTime: when something happened, for machines that are told of events: on the clock that only
// goes forward and on the one that users read.
#pragma once

#include <cstdint>

#include "runtime/base/duration.hpp"

namespace nomad::workload {

struct EventTime {
  Nanoseconds steady{0};
  std::int64_t unix = 0;  ///< Nanoseconds.
};

}  // namespace nomad::workload
