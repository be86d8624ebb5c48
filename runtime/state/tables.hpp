// Tables: all of the replicated state, as persistent maps. A copy of Tables is a snapshot.
//
// Only the store's apply functions write; readers go through Snapshot, so that what changes here
// is compiled anew in few places.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/object/object.hpp"
#include "runtime/state/map/persistent_map.hpp"
#include "runtime/state/rows.hpp"
#include "runtime/state/table.hpp"
#include "schema/command.capnp.h"
#include "schema/node.capnp.h"
#include "schema/operator.capnp.h"
#include "schema/periodic.capnp.h"
#include "schema/scaling.capnp.h"
#include "schema/service.capnp.h"
#include "schema/variable.capnp.h"

namespace nomad::state {

struct Tables {
  template <class T>
  using ObjectMap = PersistentMap<Object<T>>;

  // Stored.
  ObjectMap<schema::Job> jobs;                      ///< namespace\0id
  ObjectMap<schema::Job> job_versions;              ///< namespace\0id\0version
  ObjectMap<schema::Job> retained_jobs;             ///< namespace\0id\0create index, version
  ObjectMap<schema::JobSummary> job_summaries;      ///< namespace\0id
  ObjectMap<schema::Node> nodes;                    ///< id
  ObjectMap<schema::NodePool> node_pools;           ///< name
  ObjectMap<schema::Namespace> namespaces;          ///< name
  PersistentMap<AllocRef> allocs;                   ///< id
  ObjectMap<schema::AllocMetric> alloc_metrics;     ///< evaluation id\0number
  ObjectMap<schema::Evaluation> evals;              ///< id
  ObjectMap<schema::Deployment> deployments;        ///< id
  ObjectMap<schema::ServiceRegistration> services;  ///< namespace\0id
  Object<schema::SchedulerConfiguration> scheduler_config;
  ObjectMap<schema::Variable> variables;       ///< namespace\0path
  ObjectMap<schema::RootKey> root_keys;        ///< id
  ObjectMap<schema::KeyHolder> key_holders;    ///< server id
  ObjectMap<schema::RestoreRow> restore_rows;  ///< restore id\0number; "id" alone: it has begun
  Object<schema::AutopilotConfiguration> autopilot_config;  ///< Empty: as the agents are told.
  ObjectMap<schema::JobScalingEvents> scaling_events;       ///< namespace\0job id
  ObjectMap<schema::JobSubmission> job_submissions;         ///< namespace\0job id\0version
  ObjectMap<schema::PeriodicLaunch> periodic_launches;      ///< namespace\0job id
  std::array<Index, stored_tables> indexes{};               ///< Of each table's last change.
  Index applied = 0;                                        ///< The last applied entry.
  Index index_offset = 0;  ///< How far indexes here are ahead of the log's: see apply_restore.cpp.

  // Derived from the above.
  PersistentMap<AllocRef> allocs_by_create;                 ///< create index, id
  PersistentMap<AllocRef> allocs_by_node;                   ///< node id\0alloc modify index, id
  PersistentMap<std::uint64_t> alloc_counts_of_nodes;       ///< node id
  PersistentMap<Nothing> draining_nodes;                    ///< node id
  PersistentMap<AllocRef> allocs_by_job;                    ///< namespace\0job id\0id
  PersistentMap<Nothing> allocs_by_eval;                    ///< evaluation id\0id
  PersistentMap<Nothing> allocs_by_deployment;              ///< deployment id\0id
  ObjectMap<schema::Evaluation> evals_by_create;            ///< create index, id
  ObjectMap<schema::Evaluation> evals_by_job;               ///< namespace\0job id\0status, id
  ObjectMap<schema::Deployment> deployments_by_create;      ///< create index, id
  ObjectMap<schema::Deployment> deployments_by_job;         ///< namespace\0job id\0create index, id
  ObjectMap<schema::ServiceRegistration> services_by_name;  ///< namespace\0name\0id
  ObjectMap<schema::ServiceRegistration> services_by_alloc;  ///< allocation id\0namespace\0id
  ObjectMap<schema::ServiceRegistration> services_by_node;   ///< node id\0namespace\0id
  PersistentMap<Shared<NodeUsage>> usage;                    ///< node id
  PersistentMap<JobCounts> job_counts;                       ///< namespace\0job id
  PersistentMap<std::uint64_t> version_uses;          ///< Allocations per key of `retained_jobs`.
  PersistentMap<Nothing> variables_by_key;            ///< root key id\0namespace\0path
  ObjectMap<schema::ScalingPolicy> scaling_policies;  ///< id
  ObjectMap<schema::ScalingPolicy> scaling_policies_by_job;  ///< namespace\0job id\0id
  Index scaling_policies_index = 0;                          ///< Of their last change.
};

}  // namespace nomad::state
