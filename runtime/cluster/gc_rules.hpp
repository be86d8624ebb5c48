// GcRules: which ended evaluations, allocations, deployments and jobs may be forgotten.
//
// An evaluation goes when it and all its allocations have ended, a job when it is dead and nothing
// of it is left, a deployment when it has ended and no allocation refers to it. Allocations whose
// evaluation is gone are collected by themselves, so that none can be left for ever.
// May depend on: runtime/base, access, object, state. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/command.capnp.h"

namespace nomad::cluster {

/// How long each kind is kept after it has ended.
struct GcThresholds {
  Nanoseconds eval = std::chrono::hours{1};
  Nanoseconds batch_eval = std::chrono::hours{24};
  Nanoseconds job = std::chrono::hours{4};
  Nanoseconds deployment = std::chrono::hours{1};
  Nanoseconds node = std::chrono::hours{24};

  /// Everything that has ended, whatever its age.
  static GcThresholds none();
};

/// At most this many ids go into one log entry.
inline constexpr std::size_t most_reaped_ids = 7281;

/// The entries that remove everything that may go at `now` (Unix nanoseconds); empty when there is
/// nothing.
std::vector<Object<schema::Command>> collect_garbage(const state::Snapshot& snapshot,
                                                     const GcThresholds& thresholds,
                                                     std::int64_t now);

}  // namespace nomad::cluster
