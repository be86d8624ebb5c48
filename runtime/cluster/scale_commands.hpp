// Scaling a group of a job, and telling something of its scaling, as commands for the log.
//
// May depend on: runtime/base, access, jobspec, object, state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/cluster/job_commands.hpp"

namespace nomad::cluster {

struct ScaleRequest {
  std::string ns;
  std::string job_id;
  std::string group;
  std::optional<std::int64_t> count = {};  ///< Empty: there is only something to tell.
  std::string message = {};
  bool error = false;
  std::string meta = {};  ///< A JSON object; empty: none.
};

/// A new version with the count and an event of it, in one entry; without a count the event alone.
/// `max_count`: most allocations that the job's groups may ask for together; 0: no limit.
Result<Decision> decide_scale(const state::Snapshot& snapshot,
                              const access::Asking& asking,
                              const ScaleRequest& request,
                              std::int64_t max_count,
                              const EvalSeed& seed);

}  // namespace nomad::cluster
