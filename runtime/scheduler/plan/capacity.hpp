// Capacity: what a node has to give, and whether a use of it fits.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/state/usage.hpp"
#include "schema/node.capnp.h"

namespace nomad::scheduler {

/// How full a node is, or will be: the share of its cpu and memory that stays free, which is below
/// zero when it is overcommitted.
struct FreeShare {
  double cpu = 0;
  double memory = 0;
};

/// Total minus reserved.
struct Capacity {
  std::int64_t cpu_mhz = 0;
  std::int64_t memory_mb = 0;
  std::int64_t disk_mb = 0;
  std::int64_t total_cores = 0;
  std::int64_t total_cpu_mhz = 0;    ///< Reserved included: what a core's share is counted from.
  std::vector<std::uint16_t> cores;  ///< Ids that tasks may reserve; sorted.

  static Capacity of(schema::Node::Reader node);

  /// Which amount of `used` exceeds this, as DimensionExhausted names it ("cpu", "memory",
  /// "disk"); empty when all fit.
  std::string_view exhausted_by(const state::Demand& used) const;

  /// What `used` leaves; below zero where it is more.
  state::Demand left(const state::Demand& used) const;

  /// The MHz that a task with `count` reserved cores counts for.
  std::int64_t shares_of_cores(std::int64_t count) const;

  FreeShare free_share(const state::Demand& used) const;
};

}  // namespace nomad::scheduler
