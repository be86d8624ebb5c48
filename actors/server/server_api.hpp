// ServerApi: what the HTTP API asks the servers to write or to compute, as a role. Reads do not
// pass here: they are answered from a state snapshot.
//
// Rules the player keeps:
//   - Each request is answered with its reply or an Error whose sentence is Nomad's where clients
//     match on it. A write is answered after it is committed, applied and visible in a snapshot.
//   - `unavailable` "No cluster leader" means that this server cannot write now.
//   - Jobs in requests are canonicalized and validated (runtime/jobspec) by the asker, who alone
//     sees the JSON tree; what depends on state is checked here.
//   - Indexes are Raft indexes; `index` of a reply is what X-Nomad-Index shows.
// The pure functions behind it are in runtime/cluster/admission.hpp: an I/O thread may build a
// command with them and propose it itself, without a hop through an actor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/actor.hpp"
#include "runtime/object/object.hpp"
#include "schema/alloc.capnp.h"
#include "schema/command.capnp.h"
#include "schema/eval.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"
#include "schema/operator.capnp.h"

namespace nomad::server {

namespace server_api {

/// A write without a richer answer is committed.
struct Written {
  using is_message = void;
  std::uint64_t index = 0;
};

// -- jobs --------------------------------------------------------------------------------------

struct JobRegistered {
  using is_message = void;
  std::string eval_id;  ///< Empty for periodic and parameterized jobs.
  std::uint64_t eval_create_index = 0;
  std::uint64_t job_modify_index = 0;
  std::uint64_t index = 0;
};

struct RegisterJob {
  using is_message = void;
  Object<schema::Job> job;
  bool enforce_index = false;  ///< Refuse unless the stored JobModifyIndex is the next field.
  std::uint64_t job_modify_index = 0;
  bool preserve_counts = false;
  std::int64_t eval_priority = 0;  ///< 0: the job's.
};

/// A job nobody knows is deregistered successfully: `eval_id` is empty then.
struct DeregisterJob {
  using is_message = void;
  std::string ns;
  std::string job_id;
  bool purge = false;
  bool no_shutdown_delay = false;
  std::int64_t eval_priority = 0;
};

struct EvaluateJob {
  using is_message = void;
  std::string ns;
  std::string job_id;
  bool force_reschedule = false;
};

struct RevertJob {
  using is_message = void;
  std::string ns;
  std::string job_id;
  std::uint64_t version = 0;
  std::optional<std::uint64_t> enforce_prior_version;
};

struct SetJobStability {
  using is_message = void;
  std::string ns;
  std::string job_id;
  std::uint64_t version = 0;
  bool stable = false;
};

/// Changes a group's count.
struct ScaleJob {
  using is_message = void;
  std::string ns;
  std::string job_id;
  std::string group;
  std::int64_t count = 0;
};

/// Starts a child of a parameterized job.
struct DispatchJob {
  using is_message = void;
  std::string ns;
  std::string job_id;
  std::string payload;  ///< Bytes as given, after base64.
  std::vector<std::pair<std::string, std::string>> meta;
  std::string idempotency_token;
  std::string id_prefix;
};

struct JobDispatched {
  using is_message = void;
  std::string dispatched_job_id;
  std::string eval_id;
  std::uint64_t eval_create_index = 0;
  std::uint64_t job_create_index = 0;
  std::uint64_t index = 0;
};

/// Registers the next child of a periodic job now, whatever its schedule says.
struct ForcePeriodic {
  using is_message = void;
  std::string ns;
  std::string job_id;
};

/// What a scheduler would do with `job`; nothing is written.
struct PlanJob {
  using is_message = void;
  Object<schema::Job> job;
};

/// Counts of what happens to the allocations of a group, for `job plan`.
struct DesiredUpdates {
  std::uint64_t ignore = 0;
  std::uint64_t place = 0;
  std::uint64_t migrate = 0;
  std::uint64_t stop = 0;
  std::uint64_t in_place_update = 0;
  std::uint64_t destructive_update = 0;
  std::uint64_t canary = 0;
  std::uint64_t preemptions = 0;
};

struct JobPlanned {
  using is_message = void;
  std::uint64_t job_modify_index = 0;  ///< Of the stored job; 0 if there is none.
  Object<schema::Job> stored;          ///< The other side of the diff; empty if there is none.
  std::vector<std::pair<std::string, DesiredUpdates>> desired_updates;  ///< By group.
  std::vector<Object<schema::Allocation>> preempted;
  std::vector<std::pair<std::string, Object<schema::AllocMetric>>> failed_groups;  ///< By group.
  std::vector<Object<schema::Evaluation>> created_evals;
  std::uint64_t index = 0;
};

// -- allocations, evaluations --------------------------------------------------------------------

struct EvalCreated {
  using is_message = void;
  std::string eval_id;
  std::uint64_t index = 0;
};

/// Stops an allocation and has it placed anew.
struct StopAlloc {
  using is_message = void;
  std::string alloc_id;
  bool no_shutdown_delay = false;
};

/// Refused unless the eval broker is paused.
struct DeleteEvals {
  using is_message = void;
  std::vector<std::string> eval_ids;
};

// -- nodes -------------------------------------------------------------------------------------

struct NodeChanged {
  using is_message = void;
  std::vector<std::string> eval_ids;
  std::uint64_t eval_create_index = 0;
  std::uint64_t node_modify_index = 0;
  std::uint64_t index = 0;
};

struct SetNodeEligibility {
  using is_message = void;
  std::string node_id;
  bool eligible = true;
};

/// Makes evaluations for every job that has something on the node.
struct EvaluateNode {
  using is_message = void;
  std::string node_id;
};

struct PurgeNode {
  using is_message = void;
  std::string node_id;
};

// -- deployments -------------------------------------------------------------------------------

struct DeploymentChanged {
  using is_message = void;
  std::string eval_id;
  std::uint64_t eval_create_index = 0;
  std::uint64_t deployment_modify_index = 0;
  std::optional<std::uint64_t> reverted_job_version;
  std::uint64_t index = 0;
};

struct FailDeployment {
  using is_message = void;
  std::string deployment_id;
};

struct PauseDeployment {
  using is_message = void;
  std::string deployment_id;
  bool pause = true;  ///< false resumes.
};

struct PromoteDeployment {
  using is_message = void;
  std::string deployment_id;
  bool all = false;
  std::vector<std::string> groups;
};

struct SetAllocHealth {
  using is_message = void;
  std::string deployment_id;
  std::vector<std::string> healthy;
  std::vector<std::string> unhealthy;
};

// -- cluster -----------------------------------------------------------------------------------

/// Collects all garbage now, whatever its age.
struct CollectGarbage {
  using is_message = void;
};

struct SetSchedulerConfiguration {
  using is_message = void;
  Object<schema::SchedulerConfiguration> configuration;
  std::optional<std::uint64_t> check_index;  ///< Write only if this is its ModifyIndex.
};

struct SchedulerConfigured {
  using is_message = void;
  bool updated = false;
  std::uint64_t index = 0;
};

/// `conflict` when `check_index` is given and is not the stored one's ModifyIndex.
struct SetAutopilot {
  using is_message = void;
  Object<schema::AutopilotConfiguration> configuration;
  std::optional<std::uint64_t> check_index;
};

struct PutNamespace {
  using is_message = void;
  Object<schema::Namespace> ns;
};

struct DeleteNamespace {
  using is_message = void;
  std::string name;
};

/// Writes a command of a variable or of the keyring (cluster::is_sealed_command) that the asker has
/// made and sealed: so nothing unsealed is ever in a message, whoever leads.
struct WriteSealed {
  using is_message = void;
  Object<schema::Command> command;
};

struct SealedWritten {
  using is_message = void;
  bool conflict = false;              ///< Nothing was written: `variable` is stored instead.
  Object<schema::Variable> variable;  ///< As written; empty after a deletion and of keys.
  std::uint64_t index = 0;
};

/// Replaces the whole state: the commands that runtime/cluster/restore_commands makes of a verified
/// snapshot, in order. Answered when the last one is applied.
struct RestoreState {
  using is_message = void;
  std::shared_ptr<const std::vector<Object<schema::Command>>> commands;
};

struct PutNodePool {
  using is_message = void;
  Object<schema::NodePool> pool;
};

struct DeleteNodePool {
  using is_message = void;
  std::string name;
};

}  // namespace server_api

using ServerApi
    = actor::Interface<server_api::JobRegistered(server_api::RegisterJob),
                       server_api::JobRegistered(server_api::DeregisterJob),
                       server_api::JobRegistered(server_api::EvaluateJob),
                       server_api::JobRegistered(server_api::RevertJob),
                       server_api::JobRegistered(server_api::ScaleJob),
                       server_api::Written(server_api::SetJobStability),
                       server_api::JobDispatched(server_api::DispatchJob),
                       server_api::EvalCreated(server_api::ForcePeriodic),
                       server_api::JobPlanned(server_api::PlanJob),
                       server_api::EvalCreated(server_api::StopAlloc),
                       server_api::Written(server_api::DeleteEvals),
                       server_api::NodeChanged(server_api::SetNodeEligibility),
                       server_api::NodeChanged(server_api::EvaluateNode),
                       server_api::NodeChanged(server_api::PurgeNode),
                       server_api::DeploymentChanged(server_api::FailDeployment),
                       server_api::DeploymentChanged(server_api::PauseDeployment),
                       server_api::DeploymentChanged(server_api::PromoteDeployment),
                       server_api::DeploymentChanged(server_api::SetAllocHealth),
                       server_api::Written(server_api::CollectGarbage),
                       server_api::SchedulerConfigured(server_api::SetSchedulerConfiguration),
                       server_api::Written(server_api::SetAutopilot),
                       server_api::Written(server_api::PutNamespace),
                       server_api::Written(server_api::DeleteNamespace),
                       server_api::SealedWritten(server_api::WriteSealed),
                       server_api::Written(server_api::RestoreState),
                       server_api::Written(server_api::PutNodePool),
                       server_api::Written(server_api::DeleteNodePool)>;

/// As much of it as the keyring needs.
using SealedOffice = actor::Interface<server_api::SealedWritten(server_api::WriteSealed)>;

}  // namespace nomad::server
