// The kinds of objects that the state stores, one descriptor each. Whatever else the state does
// with a kind follows from its descriptor: how a change of a row changes the other orders of it,
// what is derived when a state is restored, who is woken, which events are shown, what snapshots
// call it, how its commands are applied.
//
// A descriptor is derived from Stored<type, table> and has
//   Rows, rows      its maps in Tables, and the one that is stored: a map or a single object;
//   name            what snapshots call it, for ever;
//   key             a row's key; of a single object ""; a kind without one is written by hand;
// and, where it has such a thing,
//   watched         whom a change of a row wakes, if not those who wait for its key;
//   indexes         other orders of the rows; entries of the log name them by position, so new
//                   ones go behind (state/reads/read_set.hpp);
//   watches         others whom a change of a row wakes;
//   derive          what else follows from a row that is `before` replaced or removed by `after`;
//                   either may be empty. What it changes must depend on these two alone;
//   topic           its topic in the event stream; `filter_keys` what else may be asked for there;
//   shown           a row as events have it, if that is not the whole;
//   put_event, remove_event   the types of its events, if not those of the command;
//   guides_leader   true: the leader's duties go by it, and are told at once when it changes;
//   put, remove     its commands: `put` keeps the create index and sets the modify index;
//   object_of       the object in what `put` brings, if that has more than the object;
//   may_put, may_remove   why a command is refused, judged before anything is changed. All servers
//                   must judge alike, and old entries as they did: these change by new commands;
//   is_shared       whether a row holds in all regions: those are written in the authoritative one,
//                   and the others copy them (apply_shared.cpp); they have an `originIndex`;
//   rival           the key of another row that cannot be there together with one that is copied;
//                   it is a copy that has not been removed yet, and goes. "": none;
//   copied_event, dropped_event   the types of the events of copying, if it has no `put`;
//   mistakes        what is wrong with one that somebody wants to put, judged before it becomes a
//                   command;
//   missing         the text when there is none to remove.
//
// A new kind is a constant of Table (kind.hpp) behind the last stored one, its descriptor, and its
// place in Kinds. Those of access control are in acl_kinds.hpp, those of
// namespaces in namespace_kinds.hpp, volumes in csi_kinds.hpp. runtime/cluster/kind_commands.hpp
// decides on its commands.
#pragma once

#include <tuple>
#include <variant>
#include <vector>

#include "runtime/state/kinds/acl_kinds.hpp"
#include "runtime/state/kinds/csi_kinds.hpp"
#include "runtime/state/kinds/kind.hpp"
#include "runtime/state/kinds/namespace_kinds.hpp"
#include "runtime/state/rows.hpp"
#include "schema/node.capnp.h"
#include "schema/operator.capnp.h"
#include "schema/periodic.capnp.h"
#include "schema/scaling.capnp.h"
#include "schema/service.capnp.h"
#include "schema/variable.capnp.h"

namespace nomad::state {

namespace kind {

/// The current version of each job, with its status.
struct Jobs : Stored<schema::Job, Table::jobs> {
  struct Rows {
    Objects<Type> jobs;                                      ///< namespace\0id
    Objects<schema::ScalingPolicy> scaling_policies;         ///< id
    Objects<schema::ScalingPolicy> scaling_policies_by_job;  ///< namespace\0job id\0id
    Objects<Type> jobs_by_token;       ///< namespace\0parent id\0dispatch token\0id
    Index scaling_policies_index = 0;  ///< Of their last change.
  };

  static constexpr auto rows = &Rows::jobs;
  static constexpr std::string_view name = "jobs";
  static constexpr std::string_view topic = "Job";

  static std::string key(Reader job) {
    return join_key(view(job.getNamespace()), view(job.getId()));
  }

  /// Of those that were dispatched with an idempotency token.
  static std::optional<std::string> key_by_token(Reader job);

  static constexpr std::tuple indexes{RowIndex{&Rows::jobs_by_token, &key_by_token}};

  /// Lists its scaling policies, and it for the plugins that its tasks are.
  static void derive(Tables& tables,
                     const Object<Type>& before,
                     const Object<Type>& after,
                     const Derivation& how);
};

/// The newest versions of each job: see apply_job.cpp.
struct JobVersions : Stored<schema::Job, Table::job_versions> {
  struct Rows {
    Objects<Type> job_versions;  ///< namespace\0id\0version
  };

  static constexpr auto rows = &Rows::job_versions;
  static constexpr std::string_view name = "job_versions";

  static std::string key(Reader job) {
    return join_key(view(job.getNamespace()), view(job.getId()), number_key(job.getVersion()));
  }

  static std::string watched(Reader job) { return Jobs::key(job); }
};

/// Older versions that allocations still run. They go with the last of these: alloc_index.hpp.
struct RetainedJobs : Stored<schema::Job, Table::retained_jobs> {
  struct Rows {
    Objects<Type> retained_jobs;  ///< namespace\0id\0create index, version
  };

  static constexpr auto rows = &Rows::retained_jobs;
  static constexpr std::string_view name = "retained_jobs";
};

struct JobSummaries : Stored<schema::JobSummary, Table::job_summaries> {
  struct Rows {
    Objects<Type> job_summaries;  ///< namespace\0job id
  };

  static constexpr auto rows = &Rows::job_summaries;
  static constexpr std::string_view name = "job_summaries";

  static std::string key(Reader summary) { return key_of_job(summary); }
};

struct Nodes : Stored<schema::Node, Table::nodes> {
  struct Rows {
    Objects<Type> nodes;                    ///< id
    PersistentMap<Nothing> draining_nodes;  ///< id
  };

  static constexpr auto rows = &Rows::nodes;
  static constexpr std::string_view name = "nodes";
  static constexpr std::string_view topic = "Node";

  static std::string key(Reader node) { return copy(node.getId()); }

  static std::optional<std::string> if_draining(Reader node) {
    return node.hasDrainStrategy() ? std::optional{key(node)} : std::nullopt;
  }

  static constexpr std::tuple indexes{RowIndex{&Rows::draining_nodes, &if_draining}};

  /// Lists it for the plugins that it has.
  static void derive(Tables& tables,
                     const Object<Type>& before,
                     const Object<Type>& after,
                     const Derivation& how);
};

struct NodePools : Stored<schema::NodePool, Table::node_pools> {
  struct Rows {
    Objects<Type> node_pools;  ///< name
  };

  static constexpr auto rows = &Rows::node_pools;
  static constexpr std::string_view name = "node_pools";
  static constexpr std::string_view topic = "NodePool";
  static constexpr PutCommand put{schema::Command::NODE_POOL_UPSERT,
                                  &schema::Command::Reader::getNodePoolUpsert,
                                  &schema::Command::Builder::setNodePoolUpsert, "NodePoolUpserted"};
  static constexpr RemoveCommand remove{
      schema::Command::NODE_POOL_DELETE, &schema::Command::Reader::getNodePoolDelete,
      &schema::Command::Builder::setNodePoolDelete, "NodePoolDeleted"};

  static std::string key(Reader pool) { return copy(pool.getName()); }

  static std::string missing(std::string_view name) {
    return "node pool " + std::string{name} + " not found";
  }

  /// Not of those that each region has from the start.
  static bool is_shared(Reader pool);

  static std::optional<Error> may_put(const Tables&, const Object<Type>& stored, Reader wanted);
  static std::optional<Error> may_remove(const Tables& tables, Reader pool);
};

/// What derives from them is worked out by alloc_index.hpp.
struct Allocs : Stored<schema::Allocation, Table::allocs> {
  struct Rows {
    PersistentMap<AllocRef> allocs;  ///< id
  };

  static constexpr auto rows = &Rows::allocs;
  static constexpr std::string_view name = "allocs";
  static constexpr std::string_view topic = "Allocation";

  static std::vector<std::string_view> filter_keys(Reader alloc) {
    return {AllocView{alloc}.job_id(), AllocView{alloc}.deployment_id()};
  }
};

struct AllocMetrics : Stored<schema::AllocMetric, Table::alloc_metrics> {
  struct Rows {
    Objects<Type> alloc_metrics;  ///< evaluation id\0number
  };

  static constexpr auto rows = &Rows::alloc_metrics;
  static constexpr std::string_view name = "alloc_metrics";
};

struct Evals : Stored<schema::Evaluation, Table::evals> {
  struct Rows {
    Objects<Type> evals;            ///< id
    Objects<Type> evals_by_create;  ///< create index, id
    Objects<Type> evals_by_job;     ///< namespace\0job id\0status, id
  };

  static constexpr auto rows = &Rows::evals;
  static constexpr std::string_view name = "evals";
  static constexpr std::string_view topic = "Evaluation";

  static std::string key(Reader eval) { return copy(eval.getId()); }

  static std::string key_by_job(Reader eval);

  static constexpr std::tuple indexes{
      RowIndex{&Rows::evals_by_create, &key_by_create<Reader>},
      RowIndex{&Rows::evals_by_job, &key_by_job},
  };
  static constexpr std::tuple watches{RowWatch{Table::evals_by_job, &key_of_job<Reader>}};

  static std::vector<std::string_view> filter_keys(Reader eval) {
    return {view(eval.getJobId()), view(eval.getDeploymentId())};
  }

  /// Counts it for its job.
  static void derive(Tables& tables,
                     const Object<Type>& before,
                     const Object<Type>& after,
                     const Derivation& how);
};

struct Deployments : Stored<schema::Deployment, Table::deployments> {
  struct Rows {
    Objects<Type> deployments;            ///< id
    Objects<Type> deployments_by_create;  ///< create index, id
    Objects<Type> deployments_by_job;     ///< namespace\0job id\0create index, id
  };

  static constexpr auto rows = &Rows::deployments;
  static constexpr std::string_view name = "deployments";
  static constexpr std::string_view topic = "Deployment";

  static std::string key(Reader deployment) { return copy(deployment.getId()); }

  static std::string key_by_job(Reader deployment) {
    return join_key(view(deployment.getNamespace()), view(deployment.getJobId()),
                    key_by_create(deployment));
  }

  static constexpr std::tuple indexes{
      RowIndex{&Rows::deployments_by_create, &key_by_create<Reader>},
      RowIndex{&Rows::deployments_by_job, &key_by_job},
  };
  static constexpr std::tuple watches{RowWatch{Table::deployments_by_job, &key_of_job<Reader>}};

  static std::vector<std::string_view> filter_keys(Reader deployment) {
    return {view(deployment.getJobId())};
  }
};

/// Their events have types of their own, whichever command they come by.
struct Services : Stored<schema::ServiceRegistration, Table::services> {
  struct Rows {
    Objects<Type> services;           ///< namespace\0id
    Objects<Type> services_by_name;   ///< namespace\0name\0id
    Objects<Type> services_by_alloc;  ///< allocation id\0namespace\0id
    Objects<Type> services_by_node;   ///< node id\0namespace\0id
  };

  static constexpr auto rows = &Rows::services;
  static constexpr std::string_view name = "services";
  static constexpr std::string_view topic = "Service";
  static constexpr std::string_view put_event = "ServiceRegistration";
  static constexpr std::string_view remove_event = "ServiceDeregistration";

  static std::string key(Reader service) {
    return join_key(view(service.getNamespace()), view(service.getId()));
  }

  static std::string name_of(Reader service) {
    return join_key(view(service.getNamespace()), view(service.getServiceName()));
  }

  static std::string key_by_name(Reader service) {
    return join_key(name_of(service), view(service.getId()));
  }

  static std::string alloc_of(Reader service) { return copy(service.getAllocId()); }

  static std::string key_by_alloc(Reader service) {
    return join_key(view(service.getAllocId()), key(service));
  }

  static std::string key_by_node(Reader service) {
    return join_key(view(service.getNodeId()), key(service));
  }

  static constexpr std::tuple indexes{
      RowIndex{&Rows::services_by_name, &key_by_name},
      RowIndex{&Rows::services_by_alloc, &key_by_alloc},
      RowIndex{&Rows::services_by_node, &key_by_node},
  };
  static constexpr std::tuple watches{
      RowWatch{Table::services_by_name, &name_of},
      RowWatch{Table::services_by_alloc, &alloc_of},
      RowWatch{Table::services_by_job, &key_of_job<Reader>},
  };

  static std::vector<std::string_view> filter_keys(Reader service) {
    return {view(service.getJobId()), view(service.getServiceName())};
  }
};

struct SchedulerConfig : Stored<schema::SchedulerConfiguration, Table::scheduler_config> {
  struct Rows {
    Object<Type> scheduler_config;
  };

  static constexpr auto rows = &Rows::scheduler_config;
  static constexpr std::string_view name = "scheduler_config";
  static constexpr bool guides_leader = true;
  static constexpr PutCommand put{schema::Command::SCHEDULER_CONFIGURATION,
                                  &schema::Command::Reader::getSchedulerConfiguration,
                                  &schema::Command::Builder::setSchedulerConfiguration};

  static std::string key(Reader) { return {}; }

  /// With a ModifyIndex it is a check-and-set on the stored one's.
  static std::optional<Error> may_put(const Tables&, const Object<Type>& stored, Reader wanted);
};

/// No trace of variables is in the event stream.
struct Variables : Stored<schema::Variable, Table::variables> {
  struct Rows {
    Objects<Type> variables;                  ///< namespace\0path
    PersistentMap<Nothing> variables_by_key;  ///< root key id\0namespace\0path
    PersistentMap<Nothing> variables_locked;  ///< namespace\0path
  };

  static constexpr auto rows = &Rows::variables;
  static constexpr std::string_view name = "variables";

  static std::string key(Reader variable) {
    return join_key(view(variable.getNamespace()), view(variable.getPath()));
  }

  static std::string by_root_key(Reader variable) {
    return join_key(view(variable.getKeyId()), key(variable));
  }

  static std::optional<std::string> if_locked(Reader variable) {
    if (!variable.hasLock()) return std::nullopt;
    return key(variable);
  }

  static constexpr std::tuple indexes{RowIndex{&Rows::variables_by_key, &by_root_key},
                                      RowIndex{&Rows::variables_locked, &if_locked}};

  /// What it adds to `variable_bytes`.
  static std::int64_t bytes(Reader variable) {
    return static_cast<std::int64_t>(variable.getData().size());
  }

  /// Counts its bytes for its namespace.
  static void derive(Tables& tables,
                     const Object<Type>& before,
                     const Object<Type>& after,
                     const Derivation& how);
};

struct RootKeys : Stored<schema::RootKey, Table::root_keys> {
  struct Rows {
    Objects<Type> root_keys;  ///< id
  };

  static constexpr auto rows = &Rows::root_keys;
  static constexpr std::string_view name = "root_keys";

  static std::string key(Reader root_key) { return copy(root_key.getKeyId()); }
};

struct KeyHolders : Stored<schema::KeyHolder, Table::key_holders> {
  struct Rows {
    Objects<Type> key_holders;  ///< server id
  };

  static constexpr auto rows = &Rows::key_holders;
  static constexpr std::string_view name = "key_holders";
  static constexpr PutCommand put{schema::Command::KEY_HOLDER_UPSERT,
                                  &schema::Command::Reader::getKeyHolderUpsert,
                                  &schema::Command::Builder::setKeyHolderUpsert};
  static constexpr RemoveCommand remove{schema::Command::KEY_HOLDER_DELETE,
                                        &schema::Command::Reader::getKeyHolderDelete,
                                        &schema::Command::Builder::setKeyHolderDelete};

  static std::string key(Reader holder) { return copy(holder.getId()); }

  static std::string missing(std::string_view) { return "no such key holder"; }
};

/// Rows of a snapshot that is being restored: see apply_restore.cpp.
struct RestoreRows : Stored<schema::RestoreRow, Table::restore_rows> {
  struct Rows {
    Objects<Type> restore_rows;  ///< restore id\0number; "id" alone: it has begun
  };

  static constexpr auto rows = &Rows::restore_rows;
  static constexpr std::string_view name = "restore_rows";
};

struct AutopilotConfig : Stored<schema::AutopilotConfiguration, Table::autopilot_config> {
  struct Rows {
    Object<Type> autopilot_config;  ///< Empty: as the agents are told.
  };

  static constexpr auto rows = &Rows::autopilot_config;
  static constexpr std::string_view name = "autopilot_config";
  static constexpr PutCommand put{schema::Command::AUTOPILOT_UPDATE,
                                  &schema::Command::Reader::getAutopilotUpdate,
                                  &schema::Command::Builder::setAutopilotUpdate};

  static std::string key(Reader) { return {}; }

  static Reader object_of(schema::AutopilotUpdate::Reader update) {
    return update.getConfiguration();
  }

  static std::vector<std::string> mistakes(Reader wanted);

  static std::optional<Error> may_put(const Tables&,
                                      const Object<Type>& stored,
                                      schema::AutopilotUpdate::Reader wanted);
};

struct ScalingEvents : Stored<schema::JobScalingEvents, Table::scaling_events> {
  struct Rows {
    Objects<Type> scaling_events;  ///< namespace\0job id
  };

  static constexpr auto rows = &Rows::scaling_events;
  static constexpr std::string_view name = "scaling_events";

  static std::string key(Reader events) { return key_of_job(events); }
};

/// What each version of a job was registered from.
struct JobSubmissions : Stored<schema::JobSubmission, Table::job_submissions> {
  struct Rows {
    Objects<Type> job_submissions;  ///< namespace\0job id\0version
  };

  static constexpr auto rows = &Rows::job_submissions;
  static constexpr std::string_view name = "job_submissions";

  static std::string key(Reader submission) {
    return join_key(key_of_job(submission), number_key(submission.getVersion()));
  }

  static std::string watched(Reader submission) { return key_of_job(submission); }
};

struct PeriodicLaunches : Stored<schema::PeriodicLaunch, Table::periodic_launches> {
  struct Rows {
    Objects<Type> periodic_launches;  ///< namespace\0job id
  };

  static constexpr auto rows = &Rows::periodic_launches;
  static constexpr std::string_view name = "periodic_launches";

  static std::string key(Reader launch) { return key_of_job(launch); }
};

}  // namespace kind

/// In the order of Table. Guards name tables and their indexes by position: read_set.hpp says what
/// a new one asks for.
using Kinds = std::tuple<kind::Jobs,
                         kind::JobVersions,
                         kind::RetainedJobs,
                         kind::JobSummaries,
                         kind::Nodes,
                         kind::NodePools,
                         kind::Namespaces,
                         kind::Allocs,
                         kind::AllocMetrics,
                         kind::Evals,
                         kind::Deployments,
                         kind::Services,
                         kind::SchedulerConfig,
                         kind::Variables,
                         kind::RootKeys,
                         kind::KeyHolders,
                         kind::RestoreRows,
                         kind::AutopilotConfig,
                         kind::ScalingEvents,
                         kind::JobSubmissions,
                         kind::PeriodicLaunches,
                         kind::AclPolicies,
                         kind::AclTokens,
                         kind::AclOneTimeTokens,
                         kind::AclRoles,
                         kind::AclAuthMethods,
                         kind::AclBindingRules,
                         kind::AclBootstraps,
                         kind::Quotas,
                         kind::AdmissionPolicies,
                         kind::CsiVolumes>;

inline constexpr std::uint32_t stored_tables = std::tuple_size_v<Kinds>;

namespace detail {

template <class List>
struct KindList;

template <class... Kind>
struct KindList<std::tuple<Kind...>> {
  static constexpr bool is_in_order() {
    std::uint32_t position = 0;
    return ((static_cast<std::uint32_t>(Kind::table) == position++) && ...);
  }

  template <class Visit>
  static constexpr void each(Visit&& visit) {
    (visit.template operator()<Kind>(), ...);
  }

  struct AllRows : Kind::Rows... {};
};

static_assert(KindList<Kinds>::is_in_order(), "each stored table has its descriptor at its place");

}  // namespace detail

/// Calls `visit.operator()<Kind>()` with each kind.
template <class Visit>
constexpr void each_kind(Visit&& visit) {
  detail::KindList<Kinds>::each(std::forward<Visit>(visit));
}

/// The same with the kind of one table; with none if that is not stored.
template <class Visit>
constexpr void visit_kind(Table table, Visit&& visit) {
  each_kind([&]<class Kind>() {
    if (Kind::table == table) visit.template operator()<Kind>();
  });
}

template <class Kind>
using ObjectOf = Object<typename Kind::Type>;

/// Whether a kind is a single object and no map of them.
template <class Kind>
inline constexpr bool is_single
    = std::is_same_v<std::remove_cvref_t<decltype(std::declval<typename Kind::Rows>().*Kind::rows)>,
                     ObjectOf<Kind>>;

}  // namespace nomad::state
