// Drain plan: what the drainer writes next to move the allocations of draining nodes away, judged
// on a snapshot.
//
// A drain moves a service's allocations as its group's `migrate` block allows, over all draining
// nodes together: one more is marked for migration (DesiredTransition.Migrate, with an evaluation
// `node-drain`) only while enough others, unmarked and healthy, are left. Jobs of type batch and
// sysbatch run out. Once nothing but system jobs is left, or once the deadline is over, all that
// remains is marked, system jobs too unless they are to be ignored, and then the drain is complete.
// The node stays ineligible.
//
// Unlike Nomad: who is known to be unhealthy, or whose client is away, is moved first and counts
// for none of those that are left; what is marked already, canaries and what is stopping count for
// none either, so no more than max_parallel of a group are ever on their way; sysbatch jobs that
// ran out end a drain like batch jobs; where a group waits because nothing has room for its moved
// allocations, the node's events say so, once a drain.
//
// Invariants:
//   (1) what is marked is never marked again, and no node completes while something on it that it
//       has to mark is unmarked;
//   (2) before the deadline, after each round, a group has at least count - max_parallel healthy
//       unmarked allocations, or none of its was marked by the round but such as counted for none;
//   (3) a completion counts only for the strategy that it was judged by (NodeDrainUpdate.onlyOf).
//
// May depend on: runtime/base, object, state. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/cluster/eval_factory.hpp"
#include "runtime/object/object.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/command.capnp.h"

namespace nomad::cluster {

/// A job of which something is on a draining node.
struct DrainedJob {
  std::string ns;
  std::string id;

  friend auto operator<=>(const DrainedJob&, const DrainedJob&) = default;
};

/// How a node that was looked at stands.
struct DrainOutlook {
  bool is_over = false;         ///< It does not drain, or is gone.
  std::int64_t look_again = 0;  ///< When its deadline is over, in Unix nanoseconds; 0: never.
  std::set<DrainedJob> jobs{};  ///< The services that it waits for.
};

/// A group that waits because nothing has room for what was moved of it.
struct DrainWait {
  std::string node{};  ///< That drains.
  std::string job{};
  std::string group{};
};

struct DrainRound {
  /// To write now; they don't depend on each other.
  std::vector<Object<schema::Command>> commands{};
  std::map<std::string, DrainOutlook> nodes{};
  /// Jobs that no draining node waits for any more.
  std::set<DrainedJob> finished{};
  /// What groups wait for, for the log.
  std::vector<DrainWait> waits{};
  /// There is more to decide about the same nodes and jobs once the commands are applied.
  bool goes_on = false;
};

/// At most as many allocations are marked by one entry of the log.
inline constexpr std::size_t most_marked = 2'000;

/// Decides about the given nodes and jobs; costs what they have of allocations.
DrainRound next_drain_round(const state::Snapshot& snapshot,
                            const std::set<std::string>& nodes,
                            const std::set<DrainedJob>& jobs,
                            const EvalSeed& seed);

}  // namespace nomad::cluster
