// NextDeploymentCommand: what a deployment's watcher does next, judged on a snapshot: fail it,
// promote its canaries, let unhealthy allocations be replaced, or have the scheduler go on.
//
// A deployment moves by evaluations: the scheduler places as much as max_parallel allows, clients
// report health, and each report that is news to the scheduler calls for another evaluation. It
// fails when an allocation is unhealthy for good, or when a group makes no progress in time.
//
// May depend on: runtime/base, object, state, scheduler. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/cluster/eval_factory.hpp"
#include "runtime/object/object.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/command.capnp.h"

namespace nomad::cluster {

struct NextDeploymentCommand {
  bool is_over = false;             ///< The deployment has ended or is gone: stop watching it.
  Object<schema::Command> command;  ///< To write now; empty: nothing to do.
  std::string_view reason;          ///< What the command does, for the log.
  bool may_wait = false;            ///< The command is better written a little later.
  std::int64_t look_again = 0;      ///< When progress is due, in Unix nanoseconds; 0: no deadline.
};

NextDeploymentCommand next_deployment_command(const state::Snapshot& snapshot,
                                              std::string_view deployment_id,
                                              const EvalSeed& seed);

/// The entry that ends a deployment as failed. With `rollback`, the job goes back to its newest
/// stable version, if there is one and it is another specification; the description says so.
struct FailedDeployment {
  Object<schema::Command> command;
  std::string eval_id;
  std::optional<std::uint64_t> reverted_to;  ///< The stable version's number.
};

FailedDeployment fail_deployment(const state::Snapshot& snapshot,
                                 const Object<schema::Deployment>& deployment,
                                 std::string_view description,
                                 bool rollback,
                                 const EvalSeed& seed);

/// Whether some version of the deployment's job is known to work.
bool has_stable_version(const state::Snapshot& snapshot, schema::Deployment::Reader deployment);

/// Whether some group of the deployment asks for a rollback on failure.
bool reverts_on_failure(schema::Deployment::Reader deployment);

/// The evaluation that lets the scheduler act on a changed deployment; empty for a purged job.
Object<schema::Evaluation> deployment_eval(const state::Snapshot& snapshot,
                                           const Object<schema::Deployment>& deployment,
                                           const EvalSeed& seed);

}  // namespace nomad::cluster
