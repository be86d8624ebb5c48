// Random: a seeded generator. Deciding code gets one passed in, so that a test or a simulation
// replays from its seed; nothing below `actors/` draws from the operating system except
// `Random::from_system`, which wiring calls.
//
// Not for secrets: those come from libsodium in runtime/security.
#pragma once

#include <cstdint>

namespace nomad {

/// xoshiro256** by Blackman and Vigna (public domain), seeded by splitmix64. Not thread-safe.
class Random {
public:
  explicit Random(std::uint64_t seed);

  /// A generator seeded by getrandom(2).
  static Random from_system();

  std::uint64_t next();

  /// Uniform in [0, bound); 0 when `bound` is 0.
  std::uint64_t below(std::uint64_t bound);

  /// Uniform in [0, 1).
  double fraction();

  bool chance(double probability) { return fraction() < probability; }

private:
  std::uint64_t state_[4];
};

}  // namespace nomad
