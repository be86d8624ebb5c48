// Rows: the allocation objects that a plan writes.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/random.hpp"
#include "runtime/scheduler/placement/selector.hpp"
#include "runtime/scheduler/reconcile/reconcile.hpp"

namespace nomad::scheduler {

/// What a new allocation's row is made of.
struct NewRow {
  std::string_view eval_id;
  std::string_view name;
  const JobSpec* job = nullptr;
  const GroupSpec* group = nullptr;
  const Selection* selection = nullptr;
  const AllocEntry* previous = nullptr;
  bool reschedule = false;
  bool canary = false;
  std::string_view deployment_id;
  std::uint32_t metric_number = 0;
  bool memory_oversubscription = false;
  std::int64_t now = 0;
};

PlannedAlloc make_row(const NewRow& row, Random& random);

/// The row of an allocation that takes a new version of its job over in place. Networks, ports,
/// devices and cores stay as they were given out.
PlannedAlloc make_in_place_row(const AllocEntry& existing,
                               std::string_view eval_id,
                               const JobSpec& job,
                               const GroupSpec& group,
                               const Selection& selection,
                               std::uint32_t metric_number,
                               bool memory_oversubscription);

/// The row, as it is stored or updated in place, with what the reconciler changes of it.
/// `metric_number` is that of its metrics in the new plan.
PlannedAlloc make_updated_row(const RowUpdate& update,
                              const Object<schema::Allocation>& row,
                              std::uint32_t metric_number,
                              std::int64_t now);

}  // namespace nomad::scheduler
