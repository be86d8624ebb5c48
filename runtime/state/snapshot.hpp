// Snapshot: the whole state as of one index. Taken in O(1), read without locks from any thread,
// unchanged for as long as it is held. What it returns by value outlives it; ranges and pointers
// do not.
//
// Iteration: ranges yield cursors in key order, `for (const auto& entry : snapshot.nodes())
// use(entry.value())`. For pages, orders and directions that are not here take a cursor of the map
// itself: `snapshot.allocs_by_create_map().before(key)`, then `previous()`.
//
// Blocking queries: see watch.hpp; the reply's index is that of the object that was asked for, or
// `index(table)` for lists and absent objects.
//
// Decisions: a snapshot that was made by `noting` notes what is read of it, for the command that is
// decided on it (reads/read_set.hpp). Whatever gives something of the state away notes it;
// `index()` alone is not noted.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/state/map/indexed_rows.hpp"
#include "runtime/state/reads/read_set.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state {

class Snapshot {
public:
  using Jobs = PersistentMap<Object<schema::Job>>;
  using Nodes = PersistentMap<Object<schema::Node>>;
  using Allocs = PersistentMap<AllocRef>;
  using IndexedAllocs = IndexedRows<AllocRef>;
  using Evals = PersistentMap<Object<schema::Evaluation>>;
  using Deployments = PersistentMap<Object<schema::Deployment>>;
  using Services = PersistentMap<Object<schema::ServiceRegistration>>;
  using Policies = PersistentMap<Object<schema::ScalingPolicy>>;
  using Variables = PersistentMap<Object<schema::Variable>>;

  /// An empty state.
  Snapshot();

  explicit Snapshot(std::shared_ptr<const Tables> tables) : tables_{std::move(tables)} {}

  /// The same state, of which everything that is read is noted in `reads`: by one thread.
  Snapshot noting(std::shared_ptr<ReadSet> reads) const {
    Snapshot noted{tables_};
    noted.reads_ = std::move(reads);
    return noted;
  }

  /// The same state, of which nothing is noted: for what may have changed when a decision is
  /// carried out. Whoever takes it says why.
  Snapshot unguarded() const { return Snapshot{tables_}; }

  const Tables& tables() const {
    if (reads_) reads_->all_tables();
    return *tables_;
  }

  /// The last entry that it contains.
  Index index() const;

  /// Of the last change of a stored table, or of the scaling policies; 0 if there was none.
  Index index(Table table) const;

  /// Of the stored table that has not changed for longest.
  Index least_index() const;

  /// The rows of a kind (kinds/kinds.hpp), in the order of their keys.
  template <class Kind>
  const auto& rows() const {
    note_table(Kind::table);
    return (*tables_).*Kind::rows;
  }

  /// One of them; empty if there is none.
  template <class Kind>
  ObjectOf<Kind> row(std::string_view key) const {
    note_row(Kind::table, key);
    const auto* found = ((*tables_).*Kind::rows).find(key);
    return found != nullptr ? *found : ObjectOf<Kind>{};
  }

  // Single objects; empty if there is none.
  Object<schema::Job> job(std::string_view ns, std::string_view id) const;
  Object<schema::Job> job_version(std::string_view ns,
                                  std::string_view id,
                                  std::uint64_t version) const;
  /// The child that was dispatched of a job with this idempotency token.
  Object<schema::Job> dispatched(std::string_view ns,
                                 std::string_view parent_id,
                                 std::string_view token) const;
  Object<schema::JobSummary> job_summary(std::string_view ns, std::string_view id) const;
  /// The newest launch of a periodic job.
  Object<schema::PeriodicLaunch> periodic_launch(std::string_view ns, std::string_view id) const;
  Object<schema::Node> node(std::string_view id) const;
  Object<schema::NodePool> node_pool(std::string_view name) const;
  Object<schema::Namespace> get_namespace(std::string_view name) const;
  AllocRef alloc(std::string_view id) const;
  Object<schema::Evaluation> eval(std::string_view id) const;
  Object<schema::Deployment> deployment(std::string_view id) const;
  Object<schema::ServiceRegistration> service(std::string_view ns, std::string_view id) const;

  /// As set, or Nomad's defaults if it never was.
  Object<schema::SchedulerConfiguration> scheduler_configuration() const;

  /// Empty if it was never set: then each server's own configuration counts.
  Object<schema::AutopilotConfiguration> autopilot_configuration() const;

  /// What is taken of a node; null if nothing is.
  const NodeUsage* usage(std::string_view node_id) const;

  JobCounts job_counts(std::string_view ns, std::string_view id) const;

  /// The name of the quota that bounds what the namespace takes; empty if none does. There may be
  /// no such quota: where namespaces are copied from, it may have come sooner.
  std::string quota_of(std::string_view ns) const;

  /// The namespaces whose quota it is.
  std::vector<std::string> namespaces_of_quota(std::string_view quota) const;

  /// What is in use of a quota.
  QuotaUse quota_use(std::string_view quota) const;
  std::int64_t quota_variable_bytes(std::string_view quota) const;

  // Jobs.
  Jobs::Range jobs() const;

  /// Those of a namespace whose id begins with `id_prefix`.
  Jobs::Range jobs(std::string_view ns, std::string_view id_prefix = {}) const;
  /// The versions that are still known, newest first.
  std::vector<Object<schema::Job>> job_versions(std::string_view ns, std::string_view id) const;

  /// What that version was registered from; empty if nobody said.
  Object<schema::JobSubmission> job_submission(std::string_view ns,
                                               std::string_view id,
                                               std::uint64_t version) const;

  // Scaling.
  Object<schema::ScalingPolicy> scaling_policy(std::string_view id) const;
  Policies::Range scaling_policies_by_job(std::string_view ns, std::string_view job_id) const;
  Object<schema::JobScalingEvents> scaling_events(std::string_view ns,
                                                  std::string_view job_id) const;

  // Nodes.
  Nodes::Range nodes() const;

  Nodes::Range nodes(std::string_view id_prefix) const;
  /// The ids of the nodes that drain.
  std::vector<std::string> draining_nodes() const;

  // Allocations.
  Allocs::Range allocs() const;

  Allocs::Range allocs(std::string_view id_prefix) const;

  /// Oldest first.
  IndexedAllocs::Range allocs_by_create() const;

  /// The one that servers have changed least lately first.
  IndexedAllocs::Range allocs_by_node(std::string_view node_id) const;
  /// Those of the node that servers have changed after `index`.
  IndexedAllocs::Range allocs_changed_after(Index index, std::string_view node_id) const;
  std::uint64_t alloc_count(std::string_view node_id) const;
  Allocs::Range allocs_by_job(std::string_view ns, std::string_view job_id) const;
  std::vector<AllocRef> allocs_by_eval(std::string_view eval_id) const;
  std::vector<AllocRef> allocs_by_deployment(std::string_view deployment_id) const;

  // Evaluations.
  Evals::Range evals() const;

  Evals::Range evals(std::string_view id_prefix) const;

  Evals::Range evals_by_create() const;

  /// Job by job, and of each as below; `kind::Evals::key_by_job` has the keys.
  Evals::Range evals_by_job() const;

  /// By status, in the schema's order of statuses.
  Evals::Range evals_by_job(std::string_view ns, std::string_view job_id) const;
  Evals::Range evals_by_job(std::string_view ns,
                            std::string_view job_id,
                            schema::EvalStatus status) const;

  // Deployments.
  Deployments::Range deployments() const;

  Deployments::Range deployments(std::string_view id_prefix) const;

  Deployments::Range deployments_by_create() const;

  /// Oldest first.
  Deployments::Range deployments_by_job(std::string_view ns, std::string_view job_id) const;
  /// The one with the greatest create index; empty if there is none.
  Object<schema::Deployment> latest_deployment(std::string_view ns, std::string_view job_id) const;

  // Services.
  Services::Range services() const;

  Services::Range services(std::string_view ns) const;
  Services::Range services_by_name(std::string_view ns, std::string_view name) const;
  Services::Range services_by_alloc(std::string_view alloc_id) const;
  Services::Range services_by_node(std::string_view node_id) const;

  // Variables and the keyring.
  Object<schema::Variable> variable(std::string_view ns, std::string_view path) const;
  Variables::Range variables(std::string_view ns) const;
  Object<schema::RootKey> root_key(std::string_view id) const;
  /// The one that seals; empty before a cluster has one.
  Object<schema::RootKey> active_root_key() const;
  Object<schema::KeyHolder> key_holder(std::string_view server_id) const;
  /// Whether a variable, or what access control stores, is sealed with it.
  bool root_key_in_use(std::string_view id) const;

  /// Whether identities of allocations that have not ended are signed by the key of that
  /// CreateIndex; of 0: whether some have none yet, and any key may sign for them.
  bool signs_identities(std::uint64_t key_create_index) const;

  /// Whether there are such whose key has been removed by force: any later key may have signed.
  bool has_identities_of_lost_keys() const;

  // CSI. Volumes: `row<kind::CsiVolumes>`, `rows<…>`.
  Object<schema::CsiVolume> csi_volume(std::string_view ns, std::string_view id) const;
  /// Those that have claims, by namespace and id.
  std::vector<Object<schema::CsiVolume>> claimed_csi_volumes() const;
  std::vector<Object<schema::CsiVolume>> csi_volumes_of_plugin(std::string_view plugin) const;
  /// Who names a plugin: the nodes that it runs or ran on, and jobs whose tasks it is.
  std::vector<Object<schema::Node>> nodes_of_csi_plugin(std::string_view plugin) const;
  std::vector<Object<schema::Job>> jobs_of_csi_plugin(std::string_view plugin) const;
  /// The ids of all that somebody names, in their order.
  std::vector<std::string> csi_plugins(std::string_view id_prefix = {}) const;

  // The maps themselves, by the names that Tables has for them.
  const Jobs& jobs_map() const;
  const Nodes& nodes_map() const;
  const Allocs& allocs_map() const;
  IndexedAllocs allocs_by_create_map() const;
  IndexedAllocs allocs_by_node_map() const;
  const Evals& evals_map() const;
  const Evals& evals_by_create_map() const;
  const Deployments& deployments_map() const;
  const Deployments& deployments_by_create_map() const;
  const Policies& scaling_policies_map() const;
  const Services& services_map() const;
  const Services& services_by_name_map() const;
  const Services& services_by_alloc_map() const;
  const Variables& variables_map() const;
  const PersistentMap<Nothing>& variables_by_key_map() const;
  const PersistentMap<Object<schema::AclToken>>& acl_tokens_by_create_map() const;

  /// The rows of a stored table as they are written to disk, in key order, until `row` fails.
  using RowVisitor = std::function<Result<>(std::string_view key, std::span<const std::byte>)>;
  Result<> for_each_row(Table table, const RowVisitor& row) const;

  /// The indexes of all stored tables, as one row.
  std::vector<std::byte> index_row() const;

  /// How far indexes are ahead of the log's, as one row.
  std::vector<std::byte> offset_row() const;

private:
  void note_row(Table table, std::string_view key) const {
    if (reads_) reads_->row(table, key);
  }

  void note_range(Table table, RowOrder order, std::string_view prefix) const {
    if (reads_) reads_->range(table, order, prefix);
  }

  void note_table(Table table) const {
    if (reads_) reads_->table(table);
  }

  /// The entries of one of the maps that begin with `prefix`.
  template <class Map>
  typename Map::Range noted_prefix(const Map& map,
                                   Table table,
                                   RowOrder order,
                                   std::string_view prefix) const {
    note_range(table, order, prefix);
    return map.prefix(prefix);
  }

  std::shared_ptr<const Tables> tables_;
  std::shared_ptr<ReadSet> reads_;  ///< Empty: nothing is noted.
};

}  // namespace nomad::state
