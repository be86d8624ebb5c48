// Which changes of a group make new allocations necessary (destructive), and which the running
// ones can take over in place.
//
// May depend on: runtime/object. Pure.
#pragma once

#include <string_view>

#include "schema/job.capnp.h"

namespace nomad::scheduler {

/// Whether `group` changed between the two jobs in a way that running allocations can't take over.
/// Constraints don't count: the node is selected again with them.
bool tasks_updated(schema::Job::Reader before, schema::Job::Reader after, std::string_view group);

}  // namespace nomad::scheduler
