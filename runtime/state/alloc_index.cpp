#include "runtime/state/alloc_index.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::state {

namespace {

using Reader = schema::Allocation::Reader;

std::string create_key(Reader alloc) {
  return number_key(alloc.getCreateIndex()).append(view(alloc.getId()));
}

std::string node_key(Reader alloc) {
  return join_key(view(alloc.getNodeId()),
                  number_key(alloc.getAllocModifyIndex()).append(view(alloc.getId())));
}

std::string job_key(Reader alloc) {
  return join_key(view(alloc.getNamespace()), view(alloc.getJobId()), view(alloc.getId()));
}

std::string eval_key(Reader alloc) {
  return join_key(view(alloc.getEvalId()), view(alloc.getId()));
}

std::string deployment_key(Reader alloc) {
  return join_key(view(alloc.getDeploymentId()), view(alloc.getId()));
}

void count(Tables& t, const AllocRow& row, bool add) {
  const Reader alloc = *row.alloc;
  const std::string key = join_key(view(alloc.getNamespace()), view(alloc.getJobId()));
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

void use_version(Tables& t, Reader alloc) {
  increment(t.version_uses, retained_job_key(alloc));
}

void release_version(Tables& t, Reader alloc, Released& released) {
  std::string key = retained_job_key(alloc);
  if (decrement(t.version_uses, key)) released.versions.insert(std::move(key));
}

void use_node(Tables& t, const AllocRow& row) {
  const std::string_view node = view(row.alloc->getNodeId());
  if (node.empty()) return;
  auto* usage = t.usage.find_for_update(node);
  if (usage == nullptr) {
    t.usage.insert_or_assign(node, Shared<NodeUsage>::make());
    usage = t.usage.find_for_update(node);
  }
  usage->writable().add(row.demand, row.alloc->getAllocatedResources());
}

void release_node(Tables& t, const AllocRow& row) {
  const std::string_view node = view(row.alloc->getNodeId());
  if (node.empty()) return;
  NodeUsage& usage = t.usage.find_for_update(node)->writable();
  usage.remove(row.demand, row.alloc->getAllocatedResources());
  if (usage.empty()) t.usage.erase(node);
}

/// Whether both take the same of the same node, so that nothing needs to be counted again.
bool takes_the_same(const AllocRow& a, const AllocRow& b) {
  if (a.client_terminal != b.client_terminal) return false;
  if (a.client_terminal) return true;
  return view(a.alloc->getNodeId()) == view(b.alloc->getNodeId()) && a.demand == b.demand
         && capnp::AnyStruct::Reader{a.alloc->getAllocatedResources()}
                == capnp::AnyStruct::Reader{b.alloc->getAllocatedResources()};
}

}  // namespace

IndexedRows<AllocRef> allocs_by_create(const Tables& t) {
  return {t.allocs_by_create, t.allocs, [](std::string_view key) { return key.substr(8); }};
}

IndexedRows<AllocRef> allocs_by_node(const Tables& t) {
  return {t.allocs_by_node, t.allocs,
          [](std::string_view key) { return key.substr(key.find('\0') + 1 + 8); }};
}

std::string retained_job_key(Reader alloc) {
  return join_key(view(alloc.getNamespace()), view(alloc.getJobId()),
                  number_key(alloc.getJobCreateIndex()) + number_key(alloc.getJobVersion()));
}

std::string metric_key(std::string_view eval_id, std::uint32_t number) {
  return join_key(eval_id, number_key(number));
}

const Object<schema::Job>* find_job_version(const Tables& tables, Reader alloc) {
  const auto* tracked = tables.job_versions.find(join_key(
      view(alloc.getNamespace()), view(alloc.getJobId()), number_key(alloc.getJobVersion())));
  if (tracked != nullptr && (*tracked)->getCreateIndex() == alloc.getJobCreateIndex())
    return tracked;
  return tables.retained_jobs.find(retained_job_key(alloc));
}

AllocRow make_row(Object<schema::Allocation> alloc,
                  Object<schema::Job> job,
                  Object<schema::AllocMetric> metric) {
  AllocRow row;
  row.client_terminal = is_client_terminal(alloc->getClientStatus());
  row.server_terminal = alloc->getDesiredStatus() != schema::DesiredStatus::RUN;
  row.demand = demand_of(alloc->getAllocatedResources());
  row.alloc = std::move(alloc);
  row.job = std::move(job);
  row.metric = std::move(metric);
  return row;
}

void index_alloc(Tables& t, const AllocRef* before, const AllocRef& row, Released& released) {
  const Reader alloc = *row->alloc;
  const Reader old = before != nullptr ? *(*before)->alloc : Reader{};
  // Only what can move is looked at twice: ids, names and the create index never change.
  if (before == nullptr) t.allocs_by_create.insert_or_assign(create_key(alloc), {});
  t.allocs_by_job.insert_or_assign(job_key(alloc), row);
  const bool other_node = before == nullptr || view(old.getNodeId()) != view(alloc.getNodeId());
  if (other_node || old.getAllocModifyIndex() != alloc.getAllocModifyIndex()) {
    if (before != nullptr) t.allocs_by_node.erase_known(node_key(old));
    t.allocs_by_node.insert_or_assign(node_key(alloc), {});
  }
  if (other_node) {
    increment(t.alloc_counts_of_nodes, copy(alloc.getNodeId()));
    if (before != nullptr) decrement(t.alloc_counts_of_nodes, copy(old.getNodeId()));
  }

  if (before == nullptr || view(old.getEvalId()) != view(alloc.getEvalId())) {
    t.allocs_by_eval.insert_or_assign(eval_key(alloc), {});
    if (before != nullptr) {
      t.allocs_by_eval.erase(eval_key(old));
      released.evals.emplace(view(old.getEvalId()));
    }
  }
  if (before == nullptr || view(old.getDeploymentId()) != view(alloc.getDeploymentId())) {
    if (before != nullptr && old.getDeploymentId().size() > 0)
      t.allocs_by_deployment.erase(deployment_key(old));
    if (alloc.getDeploymentId().size() > 0)
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
  if (before != nullptr && takes_the_same(**before, *row)) return;
  if (before != nullptr && !(*before)->client_terminal) release_node(t, **before);
  if (!row->client_terminal) use_node(t, *row);
}

void unindex_alloc(Tables& t, const AllocRef& row, Released& released) {
  const Reader alloc = *row->alloc;
  t.allocs_by_create.erase(create_key(alloc));
  t.allocs_by_job.erase(job_key(alloc));
  t.allocs_by_node.erase(node_key(alloc));
  decrement(t.alloc_counts_of_nodes, copy(alloc.getNodeId()));
  t.allocs_by_eval.erase(eval_key(alloc));
  released.evals.emplace(view(alloc.getEvalId()));
  if (alloc.getDeploymentId().size() > 0) t.allocs_by_deployment.erase(deployment_key(alloc));
  count(t, *row, false);
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
