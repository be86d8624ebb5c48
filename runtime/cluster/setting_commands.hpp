// Settings of the cluster as commands for the log.
//
// May depend on: runtime/base, access, object, state.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/cluster/job_commands.hpp"
#include "schema/command.capnp.h"
#include "schema/operator.capnp.h"

namespace nomad::cluster {

/// `check_index`: nothing is written unless it is the stored one's ModifyIndex.
Result<Decision> decide_scheduler_configuration(
    const state::Snapshot& snapshot,
    const access::Asking& asking,
    const Object<schema::SchedulerConfiguration>& configuration,
    std::optional<std::uint64_t> check_index);

/// `check_index`: the command ends in `conflict` unless it is the stored one's ModifyIndex.
Result<Decision> decide_autopilot(const access::Asking& asking,
                                  const Object<schema::AutopilotConfiguration>& configuration,
                                  std::optional<std::uint64_t> check_index);

}  // namespace nomad::cluster
