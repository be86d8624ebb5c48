// Counts: what was met while cases ran. All of it should be, and the suite looks that it is.
#pragma once

#include <cstdint>
#include <span>

namespace nomad::properties {

struct Counts {
  std::uint64_t cases = 0;
  std::uint64_t steps = 0;
  std::uint64_t evaluations = 0;
  std::uint64_t most_evaluations = 0;  ///< While one case came to rest.
  std::uint64_t decided_again = 0;
  // What plans do.
  std::uint64_t placements = 0;
  std::uint64_t batch = 0;
  std::uint64_t system = 0;
  std::uint64_t sysbatch = 0;
  std::uint64_t canaries = 0;
  std::uint64_t older_versions = 0;
  std::uint64_t rescheduled = 0;
  std::uint64_t static_ports = 0;
  std::uint64_t dynamic_ports = 0;
  std::uint64_t cores = 0;
  std::uint64_t devices = 0;
  std::uint64_t volumes = 0;
  std::uint64_t constrained = 0;
  std::uint64_t distinct = 0;
  std::uint64_t spread = 0;
  std::uint64_t affinity = 0;
  std::uint64_t all_at_once = 0;
  std::uint64_t in_place = 0;
  std::uint64_t unknown = 0;
  std::uint64_t reconnected = 0;
  std::uint64_t replacements = 0;
  std::uint64_t lost = 0;
  std::uint64_t migrated = 0;
  std::uint64_t preempted = 0;
  std::uint64_t preempted_by_system = 0;
  // What becomes of plans.
  std::uint64_t stale_plans = 0;
  std::uint64_t verified_ahead = 0;
  std::uint64_t rejections = 0;
  std::uint64_t parts = 0;
  std::uint64_t parked_plans = 0;
  std::uint64_t refused_plans = 0;
  std::uint64_t orphaned_plans = 0;
  std::uint64_t strays = 0;
  std::uint64_t latecomers = 0;
  // Workers and the broker.
  std::uint64_t held_back = 0;
  std::uint64_t failed_works = 0;
  std::uint64_t lost_works = 0;
  std::uint64_t expired_deliveries = 0;
  std::uint64_t too_many_deliveries = 0;
  std::uint64_t blocked = 0;
  std::uint64_t unblocked = 0;
  std::uint64_t missed_unblocks = 0;
  std::uint64_t leader_changes = 0;
  std::uint64_t flaps = 0;
  // Deployments.
  std::uint64_t promoted = 0;
  std::uint64_t promoted_by_itself = 0;
  std::uint64_t failed_deployments = 0;
  std::uint64_t reverted = 0;
  std::uint64_t successful_deployments = 0;
  // Drains.
  std::uint64_t drains = 0;
  std::uint64_t drain_marks = 0;
  std::uint64_t forced_marks = 0;
  std::uint64_t completed_drains = 0;
  std::uint64_t waiting_drains = 0;
  // In the end.
  std::uint64_t waiting = 0;
  /// Of the store: an entry of a plan that names what is gone. Not met on purpose.
  std::uint64_t refused_entries = 0;

  void add(const Counts& other);
};

struct CountName {
  const char* name;
  std::uint64_t Counts::*count;
  bool is_rare = false;  ///< Need not be met by the suite's few cases.
};

/// All but `cases`.
std::span<const CountName> count_names();

}  // namespace nomad::properties
