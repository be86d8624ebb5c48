// Deployment commands: what operators may do to a deployment, as commands for the log.
//
// May depend on: runtime/base, access, object, state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/access/authorize.hpp"
#include "runtime/cluster/eval_factory.hpp"
#include "schema/command.capnp.h"

namespace nomad::cluster {

struct DeploymentDecision {
  access::Allowed allowed;
  Object<schema::Command> command = {};
  std::string eval_id = {};                       ///< Empty when the change needs no evaluation.
  std::optional<std::uint64_t> reverted_to = {};  ///< The job version that a failure rolls back to.
};

/// The job goes back to its stable version if some group asks for that.
Result<DeploymentDecision> decide_fail(const state::Snapshot& snapshot,
                                       const access::Asking& asking,
                                       std::string_view deployment_id,
                                       const EvalSeed& seed);

/// Only to resume makes an evaluation: nothing follows from a pause.
Result<DeploymentDecision> decide_pause(const state::Snapshot& snapshot,
                                        const access::Asking& asking,
                                        std::string_view deployment_id,
                                        bool pause,
                                        const EvalSeed& seed);

/// A multiregion deployment that is complete here stops waiting for its peers. Of one that waits
/// for nobody nothing changes.
Result<DeploymentDecision> decide_unblock(const state::Snapshot& snapshot,
                                          const access::Asking& asking,
                                          std::string_view deployment_id,
                                          const EvalSeed& seed);

/// `groups` empty with `all`: every group with canaries.
Result<DeploymentDecision> decide_promote(const state::Snapshot& snapshot,
                                          const access::Asking& asking,
                                          std::string_view deployment_id,
                                          bool all,
                                          const std::vector<std::string>& groups,
                                          const EvalSeed& seed);

/// An unhealthy allocation fails the deployment. Each one that is named is judged.
Result<DeploymentDecision> decide_alloc_health(const state::Snapshot& snapshot,
                                               const access::Asking& asking,
                                               std::string_view deployment_id,
                                               const std::vector<std::string>& healthy,
                                               const std::vector<std::string>& unhealthy,
                                               const EvalSeed& seed);

}  // namespace nomad::cluster
