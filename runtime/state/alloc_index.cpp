#include "runtime/state/alloc_index.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::state {

namespace {

std::string create_key(AllocView alloc) {
  return number_key(alloc.create_index()).append(alloc.id());
}

std::string node_key(AllocView alloc) {
  return join_key(alloc.node_id(), number_key(alloc.alloc_modify_index()).append(alloc.id()));
}

std::string job_key(AllocView alloc) {
  return join_key(alloc.ns(), alloc.job_id(), alloc.id());
}

std::string eval_key(AllocView alloc) {
  return join_key(alloc.eval_id(), alloc.id());
}

std::string deployment_key(AllocView alloc) {
  return join_key(alloc.deployment_id(), alloc.id());
}

void count(Tables& t, const AllocRow& row, bool add) {
  const AllocView alloc = *row.alloc;
  const std::string key = join_key(alloc.ns(), alloc.job_id());
  JobCounts* counts = t.job_counts.find_for_update(key);
  if (counts == nullptr) {
    t.job_counts.insert_or_assign(key, JobCounts{});
    counts = t.job_counts.find_for_update(key);
  }
  const std::uint32_t step = add ? 1 : static_cast<std::uint32_t>(-1);
  counts->allocs += step;
  if (!row.terminal()) counts->live_allocs += step;
  if (counts->empty()) t.job_counts.erase(key);
}

void increment(PersistentMap<std::uint64_t>& counts, const std::string& key) {
  if (std::uint64_t* count = counts.find_for_update(key))
    ++*count;
  else
    counts.insert_or_assign(key, 1);
}

/// Whether none is left.
bool decrement(PersistentMap<std::uint64_t>& counts, const std::string& key) {
  if (--*counts.find_for_update(key) > 0) return false;
  counts.erase(key);
  return true;
}

void use_version(Tables& t, AllocView alloc) {
  increment(t.version_uses, retained_job_key(alloc));
}

void release_version(Tables& t, AllocView alloc, Released& released) {
  std::string key = retained_job_key(alloc);
  if (decrement(t.version_uses, key)) released.versions.insert(std::move(key));
}

void count_identity(Tables& t, const AllocRow& row, bool add) {
  if (row.client_terminal) return;
  const auto key = number_key(row.alloc->identity_key());
  if (add)
    increment(t.identity_uses, key);
  else
    decrement(t.identity_uses, key);
}

void use_node(Tables& t, const AllocRow& row) {
  const std::string_view node = row.alloc->node_id();
  if (node.empty()) return;
  auto* usage = t.usage.find_for_update(node);
  if (usage == nullptr) {
    t.usage.insert_or_assign(node, Shared<NodeUsage>::make());
    usage = t.usage.find_for_update(node);
  }
  usage->writable().add(row.demand, row.alloc->resources());
}

void release_node(Tables& t, const AllocRow& row) {
  const std::string_view node = row.alloc->node_id();
  if (node.empty()) return;
  NodeUsage& usage = t.usage.find_for_update(node)->writable();
  usage.remove(row.demand, row.alloc->resources());
  if (usage.empty()) t.usage.erase(node);
}

/// Whether both take the same of the same node, so that nothing needs to be counted again.
bool takes_the_same(const AllocRow& a, const AllocRow& b) {
  if (a.client_terminal != b.client_terminal) return false;
  if (a.client_terminal) return true;
  return a.alloc->node_id() == b.alloc->node_id() && a.demand == b.demand
         && capnp::AnyStruct::Reader{a.alloc->resources()}
                == capnp::AnyStruct::Reader{b.alloc->resources()};
}

/// Counts it for its namespace's quota; rows may be null.
void count_in_quota(Tables& t, const AllocRow* before, const AllocRow* after, Released& released) {
  auto quota = count_for_quota(t, before, after);
  if (quota.empty()) return;
  if (before != nullptr && !before->terminal()) released.quotas.insert(quota);
  released.used_quotas.insert(std::move(quota));
}

}  // namespace

IndexedRows<AllocRef> allocs_by_create(const Tables& t) {
  return {t.allocs_by_create, t.allocs, [](std::string_view key) { return key.substr(8); }};
}

IndexedRows<AllocRef> allocs_by_node(const Tables& t) {
  return {t.allocs_by_node, t.allocs,
          [](std::string_view key) { return key.substr(key.find('\0') + 1 + 8); }};
}

std::string retained_job_key(AllocView alloc) {
  return join_key(alloc.ns(), alloc.job_id(),
                  number_key(alloc.job_create_index()) + number_key(alloc.job_version()));
}

std::string metric_key(std::string_view eval_id, std::uint32_t number) {
  return join_key(eval_id, number_key(number));
}

const Object<schema::Job>* find_job_version(const Tables& tables, AllocView alloc) {
  const auto* tracked = tables.job_versions.find(
      join_key(alloc.ns(), alloc.job_id(), number_key(alloc.job_version())));
  if (tracked != nullptr && (*tracked)->getCreateIndex() == alloc.job_create_index())
    return tracked;
  return tables.retained_jobs.find(retained_job_key(alloc));
}

std::uint64_t identities_of_lost_keys(const Tables& tables) {
  std::set<std::string> known{number_key(0)};  // of those that none has signed yet
  for (const auto& entry : tables.root_keys.all())
    known.insert(number_key(entry.value()->getCreateIndex()));
  std::uint64_t count = 0;
  for (const auto& entry : tables.identity_uses.all())
    if (!known.contains(std::string{entry.key()})) count += entry.value();
  return count;
}

AllocRow make_row(Object<schema::Allocation> alloc,
                  Object<schema::Job> job,
                  Object<schema::AllocMetric> metric) {
  AllocRow row;
  row.client_terminal = alloc->is_client_terminal();
  row.server_terminal = alloc->is_server_terminal();
  row.demand = demand_of(alloc->resources());
  row.alloc = std::move(alloc);
  row.job = std::move(job);
  row.metric = std::move(metric);
  return row;
}

void index_alloc(Tables& t, const AllocRef* before, const AllocRef& row, Released& released) {
  const AllocView alloc = *row->alloc;
  const AllocView old = before != nullptr ? *(*before)->alloc : AllocView{};
  // Only what can move is looked at twice: ids, names and the create index never change.
  if (before == nullptr) t.allocs_by_create.insert_or_assign(create_key(alloc), {});
  t.allocs_by_job.insert_or_assign(job_key(alloc), row);
  const bool other_node = before == nullptr || old.node_id() != alloc.node_id();
  if (other_node || old.alloc_modify_index() != alloc.alloc_modify_index()) {
    if (before != nullptr) t.allocs_by_node.erase_known(node_key(old));
    t.allocs_by_node.insert_or_assign(node_key(alloc), {});
  }
  if (other_node) {
    increment(t.alloc_counts_of_nodes, std::string{alloc.node_id()});
    if (before != nullptr) decrement(t.alloc_counts_of_nodes, std::string{old.node_id()});
  }

  if (before == nullptr || old.eval_id() != alloc.eval_id()) {
    t.allocs_by_eval.insert_or_assign(eval_key(alloc), {});
    if (before != nullptr) {
      t.allocs_by_eval.erase(eval_key(old));
      released.evals.emplace(old.eval_id());
    }
  }
  if (before == nullptr || old.deployment_id() != alloc.deployment_id()) {
    if (before != nullptr && !old.deployment_id().empty())
      t.allocs_by_deployment.erase(deployment_key(old));
    if (!alloc.deployment_id().empty())
      t.allocs_by_deployment.insert_or_assign(deployment_key(alloc), {});
  }
  if (before == nullptr || (*before)->terminal() != row->terminal()) {
    count(t, *row, true);
    if (before != nullptr) count(t, **before, false);
  }
  if (before == nullptr || retained_job_key(old) != retained_job_key(alloc)) {
    use_version(t, alloc);
    if (before != nullptr) release_version(t, old, released);
  }
  count_in_quota(t, before != nullptr ? &**before : nullptr, &*row, released);
  if (before == nullptr || (*before)->client_terminal != row->client_terminal
      || old.identity_key() != alloc.identity_key()) {
    count_identity(t, *row, true);
    if (before != nullptr) count_identity(t, **before, false);
  }
  if (before != nullptr && takes_the_same(**before, *row)) return;
  if (before != nullptr && !(*before)->client_terminal) release_node(t, **before);
  if (!row->client_terminal) use_node(t, *row);
}

void unindex_alloc(Tables& t, const AllocRef& row, Released& released) {
  const AllocView alloc = *row->alloc;
  t.allocs_by_create.erase(create_key(alloc));
  t.allocs_by_job.erase(job_key(alloc));
  t.allocs_by_node.erase(node_key(alloc));
  decrement(t.alloc_counts_of_nodes, std::string{alloc.node_id()});
  t.allocs_by_eval.erase(eval_key(alloc));
  released.evals.emplace(alloc.eval_id());
  if (!alloc.deployment_id().empty()) t.allocs_by_deployment.erase(deployment_key(alloc));
  count(t, *row, false);
  count_in_quota(t, &*row, nullptr, released);
  count_identity(t, *row, false);
  release_version(t, alloc, released);
  if (!row->client_terminal) release_node(t, *row);
}

void drop_unused(Tables& t, const Released& released) {
  for (const auto& key : released.versions)
    if (!t.version_uses.contains(key)) t.retained_jobs.erase(key);
  for (const auto& eval : released.evals) {
    if (!t.allocs_by_eval.prefix(join_key(eval, "")).empty()) continue;
    std::vector<std::string> unused;
    for (const auto& entry : t.alloc_metrics.prefix(join_key(eval, "")))
      unused.emplace_back(entry.key());
    for (const auto& key : unused)
      t.alloc_metrics.erase(key);
  }
}

}  // namespace nomad::state
