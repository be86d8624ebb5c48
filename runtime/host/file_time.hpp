// A file's times, as they are compared and kept.
#pragma once

#include <cstdint>

#include <time.h>

namespace nomad::host {

/// Nanoseconds since 1970.
inline std::int64_t nanoseconds_of(const timespec& time) {
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

}  // namespace nomad::host
