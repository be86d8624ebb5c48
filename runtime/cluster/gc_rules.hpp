// GcRules: which ended evaluations, allocations, deployments and jobs may be forgotten.
//
// The rules are Nomad's. An evaluation goes when it and all its allocations have ended, a job with
// all that is left of it when it is dead, a deployment when it has ended and no allocation of it
// may run. Kept are failed allocations whose replacement is still to come (it counts the attempts
// before it), and what the tasks of a living batch job did, or they would run again. Allocations
// whose evaluation is gone are collected by themselves, so that none can be left for ever.
//
// Ages are measured by the times in the objects, where Nomad has a table of indexes and times.
// May depend on: runtime/base, object, state, scheduler. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/object/object.hpp"
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

/// What a search looks for: Nomad has an interval of its own for jobs.
struct GcKinds {
  bool jobs = true;
  bool others = true;
};

/// At most this many ids go into one log entry, so that applying it holds up nobody for long.
inline constexpr std::size_t most_reaped_ids = 256;

/// The entries that remove everything that may go at `now` (Unix nanoseconds), to be written in
/// this order; empty when there is nothing.
std::vector<Object<schema::Command>> collect_garbage(const state::Snapshot& snapshot,
                                                     const GcThresholds& thresholds,
                                                     std::int64_t now,
                                                     GcKinds kinds = {});

}  // namespace nomad::cluster
