// A moment by both clocks: tokens end by that of the calendar, grants by the steady one.
#pragma once

#include <cstdint>

#include "runtime/access/grant.hpp"
#include "runtime/base/clock.hpp"

namespace nomad::access {

struct Moment {
  std::int64_t unix_nanoseconds;
  Time steady;

  static Moment now() { return {unix_now(), std::chrono::steady_clock::now()}; }
};

}  // namespace nomad::access
