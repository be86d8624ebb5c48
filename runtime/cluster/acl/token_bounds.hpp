// How long tokens of access control may live that end by themselves.
#pragma once

#include <chrono>

#include "runtime/base/duration.hpp"

namespace nomad::cluster {

struct TokenBounds {
  Nanoseconds least = std::chrono::minutes{1};
  Nanoseconds most = std::chrono::hours{24};
};

}  // namespace nomad::cluster
