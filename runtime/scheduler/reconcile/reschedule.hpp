// Rescheduling: when a failed allocation is placed anew, by its group's reschedule policy.
//
// May depend on: runtime/state. Pure; times are Unix nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/object/alloc_view.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"

namespace nomad::scheduler {

/// The group of a job by name; nothing if there is none.
std::optional<schema::TaskGroup::Reader> find_group(schema::Job::Reader job,
                                                    std::string_view group);

/// When the allocation's last task ended; its last change if none has.
std::int64_t fail_time(AllocView alloc);

/// How long the next replacement waits, given the earlier ones.
std::int64_t next_delay(AllocView alloc, schema::ReschedulePolicy::Reader policy);

struct RescheduleTime {
  std::int64_t time = 0;
  bool eligible = false;  ///< The policy allows a replacement at all.
};

/// When an allocation that failed at `failed_at` is to be replaced. Does not look at its status.
RescheduleTime reschedule_time(AllocView alloc,
                               schema::ReschedulePolicy::Reader policy,
                               std::int64_t failed_at);

/// The same for one that has failed and is not told to stop; not eligible otherwise.
RescheduleTime reschedule_time(AllocView alloc, schema::Job::Reader job);

struct RescheduleEvent {
  std::int64_t time = 0;
  std::string_view prev_alloc_id;
  std::string_view prev_node_id;
  std::int64_t delay = 0;
};

/// The history that the replacement of `previous` carries: as much of the old one as its policy
/// looks at, and this step. The views live as long as `previous`.
std::vector<RescheduleEvent> reschedule_history(AllocView previous,
                                                schema::Job::Reader job,
                                                std::int64_t now);

}  // namespace nomad::scheduler
