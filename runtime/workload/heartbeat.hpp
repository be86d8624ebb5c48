// When a client speaks to the servers next: pauses between heartbeats, and after failures.
#pragma once

#include <optional>

#include "runtime/base/duration.hpp"
#include "runtime/base/random.hpp"

namespace nomad::workload {

/// `base` and up to as much again, so that many clients do not come at once.
Nanoseconds with_jitter(Nanoseconds base, Random& random);

/// The pause after a heartbeat failed: never shorter than a second, never longer than half a
/// minute while the lease lasts, and longer the longer the servers are away. `left` is what remains
/// of the lease (negative: it ran out); nothing: no heartbeat has been answered yet, or there is no
/// leader.
Nanoseconds heartbeat_retry(std::optional<Nanoseconds> left, Random& random);

}  // namespace nomad::workload
