// Tables: all of the replicated state, as persistent maps. A copy of Tables is a snapshot.
//
// Only the store's apply functions write; readers go through Snapshot. Keys are joined by NUL
// ("namespace\0id"); numbers in keys are eight bytes, big endian, so that they sort.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/object/object.hpp"
#include "runtime/state/persistent_map.hpp"
#include "runtime/state/shared.hpp"
#include "runtime/state/usage.hpp"
#include "schema/alloc.capnp.h"
#include "schema/command.capnp.h"
#include "schema/deployment.capnp.h"
#include "schema/eval.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"
#include "schema/operator.capnp.h"
#include "schema/service.capnp.h"
#include "schema/variable.capnp.h"

namespace nomad::state {

using Index = std::uint64_t;

/// Of a node; the oldest goes when another one comes.
inline constexpr std::size_t kept_node_events = 10;

/// What can be watched and, up to `autopilot_config`, what is stored. The comment is the watched
/// key. A new stored table goes behind the last stored one: snapshots hold indexes by place.
enum class Table : std::uint32_t {
  jobs,                  ///< namespace\0id
  job_versions,          ///< namespace\0id
  retained_jobs,         ///< (not watched)
  job_summaries,         ///< namespace\0id
  nodes,                 ///< id
  node_pools,            ///< name
  namespaces,            ///< name
  allocs,                ///< id
  alloc_metrics,         ///< (not watched)
  evals,                 ///< id
  deployments,           ///< id
  services,              ///< namespace\0id
  scheduler_config,      ///< ""
  variables,             ///< namespace\0path
  root_keys,             ///< id
  key_holders,           ///< server id
  restore_rows,          ///< (not watched)
  autopilot_config,      ///< ""
  allocs_by_node,        ///< node id: any change of its allocations
  allocs_for_node,       ///< node id: a change that servers made; what a client waits for
  allocs_by_job,         ///< namespace\0job id
  allocs_by_eval,        ///< evaluation id
  allocs_by_deployment,  ///< deployment id
  evals_by_job,          ///< namespace\0job id
  deployments_by_job,    ///< namespace\0job id
  services_by_name,      ///< namespace\0name
  services_by_alloc,     ///< allocation id
  services_by_job,       ///< namespace\0job id
  applied,               ///< "": each publication
};

inline constexpr std::uint32_t stored_tables
    = static_cast<std::uint32_t>(Table::autopilot_config) + 1;

/// The name of a stored table in snapshots: "jobs".
std::string_view to_string(Table table);

/// A key of parts: "namespace\0id".
std::string join_key(std::string_view first, std::string_view second);
std::string join_key(std::string_view first, std::string_view second, std::string_view third);

/// Eight bytes that sort like the number.
std::string number_key(std::uint64_t number);

/// An allocation with what its row refers to, and the columns that the scheduler reads.
struct AllocRow {
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;             ///< The version that it was placed by.
  Object<schema::AllocMetric> metric;  ///< Empty if its plan gave none.
  Demand demand;
  bool client_terminal = false;  ///< complete, failed or lost.
  bool server_terminal = false;  ///< desired: stop or evict.

  bool terminal() const { return client_terminal || server_terminal; }
};

using AllocRef = Shared<AllocRow>;

bool is_client_terminal(schema::ClientStatus status);
bool is_terminal(schema::EvalStatus status);
/// All but successful, failed and cancelled.
bool is_active(schema::DeploymentState state);

/// How many allocations and evaluations a job has, and how many of them are not terminal.
struct JobCounts {
  std::uint32_t allocs = 0;
  std::uint32_t live_allocs = 0;
  std::uint32_t evals = 0;
  std::uint32_t live_evals = 0;

  bool empty() const { return allocs == 0 && evals == 0; }

  friend bool operator==(const JobCounts&, const JobCounts&) = default;
};

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
  std::array<Index, stored_tables> indexes{};               ///< Of each table's last change.
  Index applied = 0;                                        ///< The last applied entry.
  Index index_offset = 0;  ///< How far indexes here are ahead of the log's: see apply_restore.cpp.

  // Derived from the above.
  PersistentMap<AllocRef> allocs_by_create;                 ///< create index, id
  PersistentMap<AllocRef> allocs_by_node;                   ///< node id\0id
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
  PersistentMap<std::uint64_t> version_uses;  ///< Allocations per key of `retained_jobs`.
  PersistentMap<Nothing> variables_by_key;    ///< root key id\0namespace\0path
};

}  // namespace nomad::state
