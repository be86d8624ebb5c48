#include "runtime/state/snapshot.hpp"

#include <algorithm>
#include <set>

#include "runtime/object/draft.hpp"
#include "runtime/state/alloc_index.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state {

namespace {

/// Places among the `indexes` of a kind.
constexpr RowOrder jobs_by_token = 1;
constexpr RowOrder evals_in_order_of_jobs = 2;
constexpr RowOrder deployments_in_order_of_jobs = 2;
constexpr RowOrder services_in_order_of_names = 1;
constexpr RowOrder services_in_order_of_allocs = 2;
constexpr RowOrder services_in_order_of_nodes = 3;
constexpr RowOrder csi_volumes_in_order_of_plugins = 1;

template <class V>
V value_or_empty(const PersistentMap<V>& map, std::string_view key) {
  const V* found = map.find(key);
  return found != nullptr ? *found : V{};
}

/// The rows of a set of allocations, whose keys end in the allocation's id.
std::vector<AllocRef> rows_of(const Tables& tables,
                              const PersistentMap<Nothing>& set,
                              std::string_view owner) {
  const std::string prefix = join_key(owner, "");
  std::vector<AllocRef> rows;
  for (const auto& entry : set.prefix(prefix))
    if (const AllocRef* row = tables.allocs.find(entry.key().substr(prefix.size())))
      rows.push_back(*row);
  return rows;
}

template <class T>
Result<> visit_rows(const PersistentMap<Object<T>>& map, const Snapshot::RowVisitor& row) {
  for (const auto& entry : map.all())
    NOMAD_TRY(row(entry.key(), entry.value().bytes()));
  return {};
}

Result<> visit_rows(const PersistentMap<AllocRef>& map, const Snapshot::RowVisitor& row) {
  for (const auto& entry : map.all())
    NOMAD_TRY(row(entry.key(), entry.value()->alloc.bytes()));
  return {};
}

/// A table of one row, if that was ever set.
template <class T>
Result<> visit_rows(const Object<T>& object, const Snapshot::RowVisitor& row) {
  return object ? row("", object.bytes()) : Result<>{};
}

}  // namespace

Snapshot::Snapshot() : tables_{std::make_shared<const Tables>()} {}

Index Snapshot::index(Table table) const {
  if (table == Table::scaling_policies) {
    note_table(Table::jobs);
    return tables_->scaling_policies_index;
  }
  if (table == Table::csi_plugins) {
    for (const auto source : {Table::nodes, Table::jobs, Table::csi_volumes})
      note_table(source);
    return tables_->csi_plugins_index;
  }
  const auto number = static_cast<std::uint32_t>(table);
  if (number >= stored_tables) return 0;
  note_table(table);
  return tables_->indexes[number];
}

Object<schema::Job> Snapshot::job(std::string_view ns, std::string_view id) const {
  return row<kind::Jobs>(join_key(ns, id));
}

Object<schema::Job> Snapshot::job_version(std::string_view ns,
                                          std::string_view id,
                                          std::uint64_t version) const {
  return row<kind::JobVersions>(join_key(ns, id, number_key(version)));
}

Object<schema::Job> Snapshot::dispatched(std::string_view ns,
                                         std::string_view parent_id,
                                         std::string_view token) const {
  const std::string prefix = join_key(join_key(ns, parent_id), token, "");
  const auto children = noted_prefix(tables_->jobs_by_token, Table::jobs, jobs_by_token, prefix);
  return children.empty() ? Object<schema::Job>{} : children.begin()->value();
}

Object<schema::JobSummary> Snapshot::job_summary(std::string_view ns, std::string_view id) const {
  return row<kind::JobSummaries>(join_key(ns, id));
}

Object<schema::PeriodicLaunch> Snapshot::periodic_launch(std::string_view ns,
                                                         std::string_view id) const {
  return row<kind::PeriodicLaunches>(join_key(ns, id));
}

Object<schema::Node> Snapshot::node(std::string_view id) const {
  return row<kind::Nodes>(id);
}

Object<schema::NodePool> Snapshot::node_pool(std::string_view name) const {
  return row<kind::NodePools>(name);
}

Object<schema::Namespace> Snapshot::get_namespace(std::string_view name) const {
  return row<kind::Namespaces>(name);
}

AllocRef Snapshot::alloc(std::string_view id) const {
  note_row(Table::allocs, id);
  return value_or_empty(tables_->allocs, id);
}

Object<schema::Evaluation> Snapshot::eval(std::string_view id) const {
  return row<kind::Evals>(id);
}

Object<schema::Deployment> Snapshot::deployment(std::string_view id) const {
  return row<kind::Deployments>(id);
}

Object<schema::ServiceRegistration> Snapshot::service(std::string_view ns,
                                                      std::string_view id) const {
  return row<kind::Services>(join_key(ns, id));
}

Object<schema::SchedulerConfiguration> Snapshot::scheduler_configuration() const {
  note_table(Table::scheduler_config);
  if (tables_->scheduler_config) return tables_->scheduler_config;
  Draft<schema::SchedulerConfiguration> defaults;
  defaults->setSchedulerAlgorithm("binpack");
  defaults->initPreemptionConfig().setSystemSchedulerEnabled(true);
  return defaults.freeze();
}

const NodeUsage* Snapshot::usage(std::string_view node_id) const {
  note_table(Table::allocs);
  const auto* found = tables_->usage.find(node_id);
  return found != nullptr ? &**found : nullptr;
}

JobCounts Snapshot::job_counts(std::string_view ns, std::string_view id) const {
  note_table(Table::allocs);
  note_table(Table::evals);
  return value_or_empty(tables_->job_counts, join_key(ns, id));
}

std::string Snapshot::quota_of(std::string_view ns) const {
  note_row(Table::namespaces, ns);
  const auto* name = tables_->quota_of_namespaces.find(ns);
  return name != nullptr ? *name : std::string{};
}

std::vector<std::string> Snapshot::namespaces_of_quota(std::string_view quota) const {
  note_table(Table::namespaces);
  std::vector<std::string> names;
  for (const auto& entry : tables_->namespaces_by_quota.prefix(join_key(quota, "")))
    names.emplace_back(entry.key().substr(quota.size() + 1));
  return names;
}

QuotaUse Snapshot::quota_use(std::string_view quota) const {
  note_table(Table::allocs);
  note_table(Table::namespaces);
  const auto* found = tables_->quota_use.find(quota);
  return found != nullptr ? **found : QuotaUse{};
}

std::int64_t Snapshot::quota_variable_bytes(std::string_view quota) const {
  note_table(Table::variables);
  note_table(Table::namespaces);
  return variable_bytes_of_quota(*tables_, quota);
}

Snapshot::Jobs::Range Snapshot::jobs(std::string_view ns, std::string_view id_prefix) const {
  return noted_prefix(tables_->jobs, Table::jobs, 0, join_key(ns, id_prefix));
}

std::vector<std::string> Snapshot::draining_nodes() const {
  note_table(Table::nodes);
  std::vector<std::string> ids;
  for (const auto& entry : tables_->draining_nodes.all())
    ids.emplace_back(entry.key());
  return ids;
}

std::vector<Object<schema::Job>> Snapshot::job_versions(std::string_view ns,
                                                        std::string_view id) const {
  std::vector<Object<schema::Job>> versions;
  for (const auto& entry :
       noted_prefix(tables_->job_versions, Table::job_versions, 0, join_key(ns, id, "")))
    versions.push_back(entry.value());
  std::reverse(versions.begin(), versions.end());
  return versions;
}

Object<schema::JobSubmission> Snapshot::job_submission(std::string_view ns,
                                                       std::string_view id,
                                                       std::uint64_t version) const {
  return row<kind::JobSubmissions>(join_key(ns, id, number_key(version)));
}

Object<schema::ScalingPolicy> Snapshot::scaling_policy(std::string_view id) const {
  note_table(Table::jobs);
  return value_or_empty(tables_->scaling_policies, id);
}

Snapshot::Policies::Range Snapshot::scaling_policies_by_job(std::string_view ns,
                                                            std::string_view job_id) const {
  if (reads_) note_row(Table::jobs, join_key(ns, job_id));
  return tables_->scaling_policies_by_job.prefix(join_key(ns, job_id, ""));
}

Object<schema::JobScalingEvents> Snapshot::scaling_events(std::string_view ns,
                                                          std::string_view job_id) const {
  return row<kind::ScalingEvents>(join_key(ns, job_id));
}

Snapshot::IndexedAllocs::Range Snapshot::allocs_by_node(std::string_view node_id) const {
  return allocs_by_node_map().prefix(join_key(node_id, ""));
}

Snapshot::IndexedAllocs::Range Snapshot::allocs_changed_after(Index index,
                                                              std::string_view node_id) const {
  return allocs_by_node_map().range(join_key(node_id, number_key(index + 1)),
                                    std::string{node_id}.append(1, '\1'));
}

std::uint64_t Snapshot::alloc_count(std::string_view node_id) const {
  note_table(Table::allocs);
  const auto* const count = tables_->alloc_counts_of_nodes.find(node_id);
  return count == nullptr ? 0 : *count;
}

Snapshot::Allocs::Range Snapshot::allocs_by_job(std::string_view ns,
                                                std::string_view job_id) const {
  note_table(Table::allocs);
  return tables_->allocs_by_job.prefix(join_key(ns, job_id, ""));
}

std::vector<AllocRef> Snapshot::allocs_by_eval(std::string_view eval_id) const {
  note_table(Table::allocs);
  return rows_of(*tables_, tables_->allocs_by_eval, eval_id);
}

std::vector<AllocRef> Snapshot::allocs_by_deployment(std::string_view deployment_id) const {
  note_table(Table::allocs);
  return rows_of(*tables_, tables_->allocs_by_deployment, deployment_id);
}

Snapshot::Evals::Range Snapshot::evals_by_job() const {
  note_table(Table::evals);
  return tables_->evals_by_job.all();
}

Snapshot::Evals::Range Snapshot::evals_by_job(std::string_view ns, std::string_view job_id) const {
  return noted_prefix(tables_->evals_by_job, Table::evals, evals_in_order_of_jobs,
                      join_key(ns, job_id, ""));
}

Snapshot::Evals::Range Snapshot::evals_by_job(std::string_view ns,
                                              std::string_view job_id,
                                              schema::EvalStatus status) const {
  const char code = static_cast<char>(status);
  return noted_prefix(tables_->evals_by_job, Table::evals, evals_in_order_of_jobs,
                      join_key(ns, job_id, {&code, 1}));
}

Snapshot::Deployments::Range Snapshot::deployments_by_job(std::string_view ns,
                                                          std::string_view job_id) const {
  return noted_prefix(tables_->deployments_by_job, Table::deployments, deployments_in_order_of_jobs,
                      join_key(ns, job_id, ""));
}

Object<schema::Deployment> Snapshot::latest_deployment(std::string_view ns,
                                                       std::string_view job_id) const {
  const std::string prefix = join_key(ns, job_id, "");
  note_range(Table::deployments, deployments_in_order_of_jobs, prefix);
  std::string end = prefix;
  end.back() = '\x01';
  const auto last = tables_->deployments_by_job.before(end);
  if (!last.valid() || !last.key().starts_with(prefix)) return {};
  return last.value();
}

Snapshot::Services::Range Snapshot::services(std::string_view ns) const {
  return noted_prefix(tables_->services, Table::services, 0, join_key(ns, ""));
}

Snapshot::Services::Range Snapshot::services_by_name(std::string_view ns,
                                                     std::string_view name) const {
  return noted_prefix(tables_->services_by_name, Table::services, services_in_order_of_names,
                      join_key(ns, name, ""));
}

Snapshot::Services::Range Snapshot::services_by_alloc(std::string_view alloc_id) const {
  return noted_prefix(tables_->services_by_alloc, Table::services, services_in_order_of_allocs,
                      join_key(alloc_id, ""));
}

Snapshot::Services::Range Snapshot::services_by_node(std::string_view node_id) const {
  return noted_prefix(tables_->services_by_node, Table::services, services_in_order_of_nodes,
                      join_key(node_id, ""));
}

Object<schema::Variable> Snapshot::variable(std::string_view ns, std::string_view path) const {
  return row<kind::Variables>(join_key(ns, path));
}

Object<schema::RootKey> Snapshot::root_key(std::string_view id) const {
  return row<kind::RootKeys>(id);
}

Object<schema::RootKey> Snapshot::active_root_key() const {
  note_table(Table::root_keys);
  for (const auto& entry : tables_->root_keys.all())
    if (entry.value()->getState() == schema::RootKeyState::ACTIVE) return entry.value();
  return {};
}

Object<schema::KeyHolder> Snapshot::key_holder(std::string_view server_id) const {
  return row<kind::KeyHolders>(server_id);
}

Snapshot::Variables::Range Snapshot::variables(std::string_view ns) const {
  return noted_prefix(tables_->variables, Table::variables, 0, join_key(ns, ""));
}

bool Snapshot::signs_identities(std::uint64_t key_create_index) const {
  note_table(Table::allocs);
  return tables_->identity_uses.contains(number_key(key_create_index));
}

bool Snapshot::has_identities_of_lost_keys() const {
  note_table(Table::allocs);
  note_table(Table::root_keys);
  return identities_of_lost_keys(*tables_) > 0;
}

bool Snapshot::root_key_in_use(std::string_view id) const {
  note_table(Table::variables);
  if (tables_->acl_sealed_by_key.contains(id)) return true;
  const std::string prefix = join_key(id, "");
  const auto first = tables_->variables_by_key.lower_bound(prefix);
  return first.valid() && first.key().starts_with(prefix);
}

Result<> Snapshot::for_each_row(Table table, const RowVisitor& row) const {
  note_table(table);
  Result<> outcome;
  visit_kind(table, [&]<class Kind>() { outcome = visit_rows((*tables_).*Kind::rows, row); });
  return outcome;
}

std::vector<std::byte> Snapshot::offset_row() const {
  if (reads_) reads_->all_tables();
  std::vector<std::byte> bytes;
  for (const char part : number_key(tables_->index_offset))
    bytes.push_back(static_cast<std::byte>(part));
  return bytes;
}

std::vector<std::byte> Snapshot::index_row() const {
  if (reads_) reads_->all_tables();
  std::vector<std::byte> bytes;
  for (const Index index : tables_->indexes)
    for (const char part : number_key(index))
      bytes.push_back(static_cast<std::byte>(part));
  return bytes;
}

Snapshot::Jobs::Range Snapshot::jobs() const {
  note_table(Table::jobs);
  return tables_->jobs.all();
}

Snapshot::Nodes::Range Snapshot::nodes() const {
  note_table(Table::nodes);
  return tables_->nodes.all();
}

Snapshot::Nodes::Range Snapshot::nodes(std::string_view id_prefix) const {
  return noted_prefix(tables_->nodes, Table::nodes, 0, id_prefix);
}

Snapshot::Allocs::Range Snapshot::allocs() const {
  note_table(Table::allocs);
  return tables_->allocs.all();
}

Snapshot::Allocs::Range Snapshot::allocs(std::string_view id_prefix) const {
  note_table(Table::allocs);
  return tables_->allocs.prefix(id_prefix);
}

Snapshot::IndexedAllocs::Range Snapshot::allocs_by_create() const {
  return allocs_by_create_map().all();
}

Snapshot::Evals::Range Snapshot::evals() const {
  note_table(Table::evals);
  return tables_->evals.all();
}

Snapshot::Evals::Range Snapshot::evals(std::string_view id_prefix) const {
  return noted_prefix(tables_->evals, Table::evals, 0, id_prefix);
}

Snapshot::Evals::Range Snapshot::evals_by_create() const {
  note_table(Table::evals);
  return tables_->evals_by_create.all();
}

Snapshot::Deployments::Range Snapshot::deployments() const {
  note_table(Table::deployments);
  return tables_->deployments.all();
}

Snapshot::Deployments::Range Snapshot::deployments(std::string_view id_prefix) const {
  return noted_prefix(tables_->deployments, Table::deployments, 0, id_prefix);
}

Snapshot::Deployments::Range Snapshot::deployments_by_create() const {
  note_table(Table::deployments);
  return tables_->deployments_by_create.all();
}

Snapshot::Services::Range Snapshot::services() const {
  note_table(Table::services);
  return tables_->services.all();
}

const Snapshot::Policies& Snapshot::scaling_policies_map() const {
  note_table(Table::jobs);
  return tables_->scaling_policies;
}

const Snapshot::Jobs& Snapshot::jobs_map() const {
  note_table(Table::jobs);
  return tables_->jobs;
}

const Snapshot::Nodes& Snapshot::nodes_map() const {
  note_table(Table::nodes);
  return tables_->nodes;
}

const Snapshot::Allocs& Snapshot::allocs_map() const {
  note_table(Table::allocs);
  return tables_->allocs;
}

Snapshot::IndexedAllocs Snapshot::allocs_by_create_map() const {
  note_table(Table::allocs);
  return state::allocs_by_create(*tables_);
}

Snapshot::IndexedAllocs Snapshot::allocs_by_node_map() const {
  note_table(Table::allocs);
  return state::allocs_by_node(*tables_);
}

const Snapshot::Evals& Snapshot::evals_map() const {
  note_table(Table::evals);
  return tables_->evals;
}

const Snapshot::Evals& Snapshot::evals_by_create_map() const {
  note_table(Table::evals);
  return tables_->evals_by_create;
}

const Snapshot::Deployments& Snapshot::deployments_map() const {
  note_table(Table::deployments);
  return tables_->deployments;
}

const Snapshot::Deployments& Snapshot::deployments_by_create_map() const {
  note_table(Table::deployments);
  return tables_->deployments_by_create;
}

const Snapshot::Services& Snapshot::services_map() const {
  note_table(Table::services);
  return tables_->services;
}

const Snapshot::Services& Snapshot::services_by_name_map() const {
  note_table(Table::services);
  return tables_->services_by_name;
}

const Snapshot::Services& Snapshot::services_by_alloc_map() const {
  note_table(Table::services);
  return tables_->services_by_alloc;
}

const Snapshot::Variables& Snapshot::variables_map() const {
  note_table(Table::variables);
  return tables_->variables;
}

const PersistentMap<Object<schema::AclToken>>& Snapshot::acl_tokens_by_create_map() const {
  note_table(Table::acl_tokens);
  return tables_->acl_tokens_by_create;
}

const PersistentMap<Nothing>& Snapshot::variables_by_key_map() const {
  note_table(Table::variables);
  return tables_->variables_by_key;
}

Index Snapshot::index() const {
  return tables_->applied;
}

Index Snapshot::least_index() const {
  if (reads_) reads_->all_tables();
  return std::ranges::min(tables_->indexes);
}

Object<schema::AutopilotConfiguration> Snapshot::autopilot_configuration() const {
  note_table(Table::autopilot_config);
  return tables_->autopilot_config;
}

Object<schema::CsiVolume> Snapshot::csi_volume(std::string_view ns, std::string_view id) const {
  return row<kind::CsiVolumes>(join_key(ns, id));
}

std::vector<Object<schema::CsiVolume>> Snapshot::claimed_csi_volumes() const {
  note_table(Table::csi_volumes);
  std::vector<Object<schema::CsiVolume>> volumes;
  for (const auto& entry : tables_->csi_volumes_claimed.all())
    if (const auto* volume = tables_->csi_volumes.find(entry.key())) volumes.push_back(*volume);
  return volumes;
}

std::vector<Object<schema::CsiVolume>> Snapshot::csi_volumes_of_plugin(
    std::string_view plugin) const {
  std::vector<Object<schema::CsiVolume>> volumes;
  for (const auto& entry : noted_prefix(tables_->csi_volumes_by_plugin, Table::csi_volumes,
                                        csi_volumes_in_order_of_plugins, join_key(plugin, "")))
    volumes.push_back(entry.value());
  return volumes;
}

std::vector<Object<schema::Node>> Snapshot::nodes_of_csi_plugin(std::string_view plugin) const {
  note_table(Table::nodes);
  const auto prefix = join_key(plugin, "");
  std::vector<Object<schema::Node>> nodes;
  for (const auto& entry : tables_->csi_plugin_nodes.prefix(prefix))
    if (const auto* node = tables_->nodes.find(entry.key().substr(prefix.size())))
      nodes.push_back(*node);
  return nodes;
}

std::vector<Object<schema::Job>> Snapshot::jobs_of_csi_plugin(std::string_view plugin) const {
  note_table(Table::jobs);
  const auto prefix = join_key(plugin, "");
  std::vector<Object<schema::Job>> jobs;
  for (const auto& entry : tables_->csi_plugin_jobs.prefix(prefix))
    if (const auto* job = tables_->jobs.find(entry.key().substr(prefix.size())))
      jobs.push_back(*job);
  return jobs;
}

std::vector<std::string> Snapshot::csi_plugins(std::string_view id_prefix) const {
  for (const auto source : {Table::nodes, Table::jobs, Table::csi_volumes})
    note_table(source);
  std::set<std::string, std::less<>> ids;
  const auto add = [&ids](const auto& range) {
    for (const auto& entry : range)
      ids.emplace(entry.key().substr(0, entry.key().find('\0')));
  };
  add(tables_->csi_plugin_nodes.prefix(id_prefix));
  add(tables_->csi_plugin_jobs.prefix(id_prefix));
  add(tables_->csi_volumes_by_plugin.prefix(id_prefix));
  return {ids.begin(), ids.end()};
}

}  // namespace nomad::state
