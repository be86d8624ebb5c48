#include "runtime/state/snapshot.hpp"

#include <algorithm>

#include "runtime/object/draft.hpp"
#include "runtime/state/alloc_index.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state {

namespace {

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
  if (table == Table::scaling_policies) return tables_->scaling_policies_index;
  const auto number = static_cast<std::uint32_t>(table);
  return number < stored_tables ? tables_->indexes[number] : 0;
}

Object<schema::Job> Snapshot::job(std::string_view ns, std::string_view id) const {
  return value_or_empty(tables_->jobs, join_key(ns, id));
}

Object<schema::Job> Snapshot::job_version(std::string_view ns,
                                          std::string_view id,
                                          std::uint64_t version) const {
  return value_or_empty(tables_->job_versions, join_key(ns, id, number_key(version)));
}

Object<schema::JobSummary> Snapshot::job_summary(std::string_view ns, std::string_view id) const {
  return value_or_empty(tables_->job_summaries, join_key(ns, id));
}

Object<schema::PeriodicLaunch> Snapshot::periodic_launch(std::string_view ns,
                                                         std::string_view id) const {
  return value_or_empty(tables_->periodic_launches, join_key(ns, id));
}

Object<schema::Node> Snapshot::node(std::string_view id) const {
  return value_or_empty(tables_->nodes, id);
}

Object<schema::NodePool> Snapshot::node_pool(std::string_view name) const {
  return value_or_empty(tables_->node_pools, name);
}

Object<schema::Namespace> Snapshot::get_namespace(std::string_view name) const {
  return value_or_empty(tables_->namespaces, name);
}

AllocRef Snapshot::alloc(std::string_view id) const {
  return value_or_empty(tables_->allocs, id);
}

Object<schema::Evaluation> Snapshot::eval(std::string_view id) const {
  return value_or_empty(tables_->evals, id);
}

Object<schema::Deployment> Snapshot::deployment(std::string_view id) const {
  return value_or_empty(tables_->deployments, id);
}

Object<schema::ServiceRegistration> Snapshot::service(std::string_view ns,
                                                      std::string_view id) const {
  return value_or_empty(tables_->services, join_key(ns, id));
}

Object<schema::SchedulerConfiguration> Snapshot::scheduler_configuration() const {
  if (tables_->scheduler_config) return tables_->scheduler_config;
  Draft<schema::SchedulerConfiguration> defaults;
  defaults->setSchedulerAlgorithm("binpack");
  defaults->initPreemptionConfig().setSystemSchedulerEnabled(true);
  return defaults.freeze();
}

const NodeUsage* Snapshot::usage(std::string_view node_id) const {
  const auto* found = tables_->usage.find(node_id);
  return found != nullptr ? &**found : nullptr;
}

JobCounts Snapshot::job_counts(std::string_view ns, std::string_view id) const {
  return value_or_empty(tables_->job_counts, join_key(ns, id));
}

Snapshot::Jobs::Range Snapshot::jobs(std::string_view ns, std::string_view id_prefix) const {
  return tables_->jobs.prefix(join_key(ns, id_prefix));
}

std::vector<std::string> Snapshot::draining_nodes() const {
  std::vector<std::string> ids;
  for (const auto& entry : tables_->draining_nodes.all())
    ids.emplace_back(entry.key());
  return ids;
}

std::vector<Object<schema::Job>> Snapshot::job_versions(std::string_view ns,
                                                        std::string_view id) const {
  std::vector<Object<schema::Job>> versions;
  for (const auto& entry : tables_->job_versions.prefix(join_key(ns, id, "")))
    versions.push_back(entry.value());
  std::reverse(versions.begin(), versions.end());
  return versions;
}

Object<schema::JobSubmission> Snapshot::job_submission(std::string_view ns,
                                                       std::string_view id,
                                                       std::uint64_t version) const {
  return value_or_empty(tables_->job_submissions, join_key(ns, id, number_key(version)));
}

Object<schema::ScalingPolicy> Snapshot::scaling_policy(std::string_view id) const {
  return value_or_empty(tables_->scaling_policies, id);
}

Snapshot::Policies::Range Snapshot::scaling_policies_by_job(std::string_view ns,
                                                            std::string_view job_id) const {
  return tables_->scaling_policies_by_job.prefix(join_key(ns, job_id, ""));
}

Object<schema::JobScalingEvents> Snapshot::scaling_events(std::string_view ns,
                                                          std::string_view job_id) const {
  return value_or_empty(tables_->scaling_events, join_key(ns, job_id));
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
  const auto* const count = tables_->alloc_counts_of_nodes.find(node_id);
  return count == nullptr ? 0 : *count;
}

Snapshot::Allocs::Range Snapshot::allocs_by_job(std::string_view ns,
                                                std::string_view job_id) const {
  return tables_->allocs_by_job.prefix(join_key(ns, job_id, ""));
}

std::vector<AllocRef> Snapshot::allocs_by_eval(std::string_view eval_id) const {
  return rows_of(*tables_, tables_->allocs_by_eval, eval_id);
}

std::vector<AllocRef> Snapshot::allocs_by_deployment(std::string_view deployment_id) const {
  return rows_of(*tables_, tables_->allocs_by_deployment, deployment_id);
}

Snapshot::Evals::Range Snapshot::evals_by_job() const {
  return tables_->evals_by_job.all();
}

Snapshot::Evals::Range Snapshot::evals_by_job(std::string_view ns, std::string_view job_id) const {
  return tables_->evals_by_job.prefix(join_key(ns, job_id, ""));
}

Snapshot::Evals::Range Snapshot::evals_by_job(std::string_view ns,
                                              std::string_view job_id,
                                              schema::EvalStatus status) const {
  const char code = static_cast<char>(status);
  return tables_->evals_by_job.prefix(join_key(ns, job_id, {&code, 1}));
}

Snapshot::Deployments::Range Snapshot::deployments_by_job(std::string_view ns,
                                                          std::string_view job_id) const {
  return tables_->deployments_by_job.prefix(join_key(ns, job_id, ""));
}

Object<schema::Deployment> Snapshot::latest_deployment(std::string_view ns,
                                                       std::string_view job_id) const {
  const std::string prefix = join_key(ns, job_id, "");
  std::string end = prefix;
  end.back() = '\x01';
  const auto last = tables_->deployments_by_job.before(end);
  if (!last.valid() || !last.key().starts_with(prefix)) return {};
  return last.value();
}

Snapshot::Services::Range Snapshot::services(std::string_view ns) const {
  return tables_->services.prefix(join_key(ns, ""));
}

Snapshot::Services::Range Snapshot::services_by_name(std::string_view ns,
                                                     std::string_view name) const {
  return tables_->services_by_name.prefix(join_key(ns, name, ""));
}

Snapshot::Services::Range Snapshot::services_by_alloc(std::string_view alloc_id) const {
  return tables_->services_by_alloc.prefix(join_key(alloc_id, ""));
}

Snapshot::Services::Range Snapshot::services_by_node(std::string_view node_id) const {
  return tables_->services_by_node.prefix(join_key(node_id, ""));
}

Object<schema::Variable> Snapshot::variable(std::string_view ns, std::string_view path) const {
  return value_or_empty(tables_->variables, join_key(ns, path));
}

Object<schema::RootKey> Snapshot::root_key(std::string_view id) const {
  return value_or_empty(tables_->root_keys, id);
}

Object<schema::RootKey> Snapshot::active_root_key() const {
  for (const auto& entry : tables_->root_keys.all())
    if (entry.value()->getState() == schema::RootKeyState::ACTIVE) return entry.value();
  return {};
}

Object<schema::KeyHolder> Snapshot::key_holder(std::string_view server_id) const {
  return value_or_empty(tables_->key_holders, server_id);
}

Snapshot::Variables::Range Snapshot::variables(std::string_view ns) const {
  return tables_->variables.prefix(join_key(ns, ""));
}

bool Snapshot::root_key_in_use(std::string_view id) const {
  const std::string prefix = join_key(id, "");
  const auto first = tables_->variables_by_key.lower_bound(prefix);
  return first.valid() && first.key().starts_with(prefix);
}

Result<> Snapshot::for_each_row(Table table, const RowVisitor& row) const {
  Result<> outcome;
  visit_kind(table, [&]<class Kind>() { outcome = visit_rows((*tables_).*Kind::rows, row); });
  return outcome;
}

std::vector<std::byte> Snapshot::offset_row() const {
  std::vector<std::byte> bytes;
  for (const char part : number_key(tables_->index_offset))
    bytes.push_back(static_cast<std::byte>(part));
  return bytes;
}

std::vector<std::byte> Snapshot::index_row() const {
  std::vector<std::byte> bytes;
  for (const Index index : tables_->indexes)
    for (const char part : number_key(index))
      bytes.push_back(static_cast<std::byte>(part));
  return bytes;
}

Snapshot::Jobs::Range Snapshot::jobs() const {
  return tables_->jobs.all();
}

Snapshot::Nodes::Range Snapshot::nodes() const {
  return tables_->nodes.all();
}

Snapshot::Nodes::Range Snapshot::nodes(std::string_view id_prefix) const {
  return tables_->nodes.prefix(id_prefix);
}

Snapshot::Allocs::Range Snapshot::allocs() const {
  return tables_->allocs.all();
}

Snapshot::Allocs::Range Snapshot::allocs(std::string_view id_prefix) const {
  return tables_->allocs.prefix(id_prefix);
}

Snapshot::IndexedAllocs::Range Snapshot::allocs_by_create() const {
  return allocs_by_create_map().all();
}

Snapshot::Evals::Range Snapshot::evals() const {
  return tables_->evals.all();
}

Snapshot::Evals::Range Snapshot::evals(std::string_view id_prefix) const {
  return tables_->evals.prefix(id_prefix);
}

Snapshot::Evals::Range Snapshot::evals_by_create() const {
  return tables_->evals_by_create.all();
}

Snapshot::Deployments::Range Snapshot::deployments() const {
  return tables_->deployments.all();
}

Snapshot::Deployments::Range Snapshot::deployments(std::string_view id_prefix) const {
  return tables_->deployments.prefix(id_prefix);
}

Snapshot::Deployments::Range Snapshot::deployments_by_create() const {
  return tables_->deployments_by_create.all();
}

Snapshot::Services::Range Snapshot::services() const {
  return tables_->services.all();
}

const Snapshot::Policies& Snapshot::scaling_policies_map() const {
  return tables_->scaling_policies;
}

const Snapshot::Jobs& Snapshot::jobs_map() const {
  return tables_->jobs;
}

const Snapshot::Nodes& Snapshot::nodes_map() const {
  return tables_->nodes;
}

const Snapshot::Allocs& Snapshot::allocs_map() const {
  return tables_->allocs;
}

Snapshot::IndexedAllocs Snapshot::allocs_by_create_map() const {
  return state::allocs_by_create(*tables_);
}

Snapshot::IndexedAllocs Snapshot::allocs_by_node_map() const {
  return state::allocs_by_node(*tables_);
}

const Snapshot::Evals& Snapshot::evals_map() const {
  return tables_->evals;
}

const Snapshot::Evals& Snapshot::evals_by_create_map() const {
  return tables_->evals_by_create;
}

const Snapshot::Deployments& Snapshot::deployments_map() const {
  return tables_->deployments;
}

const Snapshot::Deployments& Snapshot::deployments_by_create_map() const {
  return tables_->deployments_by_create;
}

const Snapshot::Services& Snapshot::services_map() const {
  return tables_->services;
}

const Snapshot::Services& Snapshot::services_by_name_map() const {
  return tables_->services_by_name;
}

const Snapshot::Services& Snapshot::services_by_alloc_map() const {
  return tables_->services_by_alloc;
}

const Snapshot::Variables& Snapshot::variables_map() const {
  return tables_->variables;
}

const PersistentMap<Nothing>& Snapshot::variables_by_key_map() const {
  return tables_->variables_by_key;
}

Index Snapshot::index() const {
  return tables_->applied;
}

Index Snapshot::least_index() const {
  return std::ranges::min(tables_->indexes);
}

Object<schema::AutopilotConfiguration> Snapshot::autopilot_configuration() const {
  return tables_->autopilot_config;
}

}  // namespace nomad::state
