// GcRules: which ended evaluations, allocations, deployments and jobs may be forgotten.
//
// The rules are Nomad's. An evaluation goes when it and all its allocations have ended, a job with
// all that is left of it when it is dead, a deployment when it has ended and no allocation of it
// may run. Kept are failed allocations whose replacement is still to come (it counts the attempts
// before it), and what the tasks of a living batch job did, or they would run again. Allocations
// whose evaluation is gone are collected by themselves, so that none can be left for ever.
//
// Tokens of access control go some time after they have expired, one-time tokens at once.
//
// Ages are measured by the times in the objects, where Nomad has a table of indexes and times.
// May depend on: runtime/base, object, state, scheduler. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/cluster/job_commands.hpp"
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
  Nanoseconds acl_token = std::chrono::hours{1};  ///< Of one that has expired.

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

/// A search that is made in turns, so that nobody has to wait until it is over. Each may look at a
/// newer state: the search goes on behind the row where the last one ended.
class GarbageSearch {
public:
  enum class Kind : std::uint8_t { jobs, acl_tokens, evals, allocs, deployments, nodes };

  explicit GarbageSearch(const GcThresholds& thresholds, GcKinds kinds = {});

  /// The entries that remove what a turn finds, which may go at `now` (Unix nanoseconds), to be
  /// written in this order. It looks at `rows` rows, and at all that belongs to the last of them (a
  /// job, an evaluation), of which there may be as many as a job has allocations.
  std::vector<Object<schema::Command>> turn(const state::Snapshot& snapshot,
                                            std::int64_t now,
                                            std::size_t rows);

  bool is_done() const { return ahead_.empty(); }

private:
  GcThresholds thresholds_;
  std::deque<Kind> ahead_;  ///< The first is being walked.
  std::string from_;        ///< The key in its table where the next turn begins.
};

/// The same in one turn: the entries that remove everything that may go at `now`; empty when there
/// is nothing.
std::vector<Object<schema::Command>> collect_garbage(const state::Snapshot& snapshot,
                                                     const GcThresholds& thresholds,
                                                     std::int64_t now,
                                                     GcKinds kinds = {});

/// Collects whatever has ended, for an operator.
Result<Decisions> decide_collect_garbage(const state::Snapshot& snapshot,
                                         const access::Asking& asking,
                                         std::int64_t now);

}  // namespace nomad::cluster
