// Refusal: why a driver does not do what it was asked.
#pragma once

#include "runtime/base/result.hpp"

namespace nomad::workload {

struct Refusal {
  Error error;
  bool recoverable = false;  ///< The same may work later.
};

}  // namespace nomad::workload
