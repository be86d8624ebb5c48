// Drain commands: a node's drain as operators, and nodes that are about to leave, ask for it.
// Deciding code. What a drain then does is runtime/cluster/drain/drain_plan.
//
// May depend on: runtime/base, access, object, state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/cluster/node_commands.hpp"

namespace nomad::cluster {

struct DrainSpec {
  std::int64_t deadline = 0;  ///< Nanoseconds from now; negative: at once; 0: none.
  bool ignore_system_jobs = false;
};

struct DrainRequest {
  std::optional<DrainSpec> spec{};  ///< Empty: a drain under way is canceled.
  bool mark_eligible = false;       ///< Of a node that is not to drain any more.
  std::map<std::string, std::string> meta{};
};

/// Drains the node from now on, by another strategy than before, or no more. A drain that goes on
/// keeps its beginning; its deadline counts from now. A node that becomes eligible has its jobs
/// evaluated. Refused: an unknown node (`not_found`), a deadline that is past what clocks can say.
Result<NodeDecision> decide_drain(const state::Snapshot& snapshot,
                                  const access::Asking& asking,
                                  std::string_view node_id,
                                  const DrainRequest& request,
                                  const EvalSeed& seed);

/// The node drains itself because its agent leaves for good.
Result<NodeDecision> decide_own_drain(const state::Snapshot& snapshot,
                                      std::string_view node_id,
                                      const DrainSpec& spec,
                                      const EvalSeed& seed);

}  // namespace nomad::cluster
