// How long an identity of a task or service may last: what validation refuses beyond, and for how
// long the key that has signed one must be kept.
#pragma once

#include <cstdint>

namespace nomad {

/// Nanoseconds: 720 hours.
inline constexpr std::int64_t longest_identity_ttl = 720LL * 3600 * 1'000'000'000;

}  // namespace nomad
