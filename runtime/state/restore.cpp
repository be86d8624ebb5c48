#include "runtime/state/restore.hpp"

#include <algorithm>

#include "runtime/object/draft.hpp"
#include "runtime/state/alloc_index.hpp"
#include "runtime/state/eval_rules.hpp"
#include "runtime/state/scaling_policies.hpp"
#include "runtime/state/stored_tables.hpp"

namespace nomad::state {

namespace {

template <class T>
Result<> put(PersistentMap<Object<T>>& map,
             std::string_view key,
             std::span<const std::byte> bytes) {
  auto object = NOMAD_TRY(Object<T>::from_bytes(bytes));
  map.insert_or_assign(key, std::move(object));
  return {};
}

/// Joined with its job and metrics once all rows are there.
Result<> put(PersistentMap<AllocRef>& map, std::string_view key, std::span<const std::byte> bytes) {
  auto alloc = NOMAD_TRY(Object<schema::Allocation>::from_bytes(bytes));
  map.insert_or_assign(key, AllocRef::make(make_row(std::move(alloc), {}, {})));
  return {};
}

/// A table of one row.
template <class T>
Result<> put(Object<T>& object, std::string_view, std::span<const std::byte> bytes) {
  object = NOMAD_TRY(Object<T>::from_bytes(bytes));
  return {};
}

std::string printable(std::string_view key) {
  std::string text;
  for (const char c : key)
    text += c >= ' ' && c <= '~' ? c : '.';
  return text;
}

void derive_evals(Tables& t) {
  for (const auto& entry : t.evals.all()) {
    const Object<schema::Evaluation>& eval = entry.value();
    const std::string id = copy(eval->getId());
    const std::string job = join_key(view(eval->getNamespace()), view(eval->getJobId()));
    t.evals_by_create.insert_or_assign(number_key(eval->getCreateIndex()) + id, eval);
    t.evals_by_job.insert_or_assign(eval_key_by_job(*eval), eval);
    const JobCounts* known = t.job_counts.find(job);
    JobCounts counts = known != nullptr ? *known : JobCounts{};
    ++counts.evals;
    if (!is_terminal(eval->getStatus())) ++counts.live_evals;
    t.job_counts.insert_or_assign(job, counts);
  }
}

void derive_deployments(Tables& t) {
  for (const auto& entry : t.deployments.all()) {
    const Object<schema::Deployment>& deployment = entry.value();
    const std::string created
        = number_key(deployment->getCreateIndex()) + copy(deployment->getId());
    t.deployments_by_create.insert_or_assign(created, deployment);
    t.deployments_by_job.insert_or_assign(
        join_key(view(deployment->getNamespace()), view(deployment->getJobId()), created),
        deployment);
  }
}

void derive_services(Tables& t) {
  for (const auto& entry : t.services.all()) {
    const Object<schema::ServiceRegistration>& service = entry.value();
    const std::string key = join_key(view(service->getNamespace()), view(service->getId()));
    t.services_by_name.insert_or_assign(
        join_key(view(service->getNamespace()), view(service->getServiceName()),
                 view(service->getId())),
        service);
    t.services_by_alloc.insert_or_assign(join_key(view(service->getAllocId()), key), service);
    t.services_by_node.insert_or_assign(join_key(view(service->getNodeId()), key), service);
  }
}

void derive_variables(Tables& t) {
  for (const auto& entry : t.variables.all())
    t.variables_by_key.insert_or_assign(
        join_key(view(entry.value()->getKeyId()), std::string{entry.key()}), Nothing{});
}

/// Which of them went is not known any more; so the last change of any job stands for theirs, which
/// nobody that waits can have heard of.
void derive_policies(Tables& t) {
  for (const auto& entry : t.jobs.all())
    replace_policies(t, {}, entry.value(), [](std::string_view) {});
  t.scaling_policies_index = t.indexes[static_cast<std::uint32_t>(Table::jobs)];
}

void derive_drains(Tables& t) {
  for (const auto& entry : t.nodes.all())
    if (entry.value()->hasDrainStrategy()) t.draining_nodes.insert_or_assign(entry.key(), {});
}

}  // namespace

Result<> Restore::row(Table table, std::string_view key, std::span<const std::byte> bytes) {
  Result<> outcome = Error{Errc::corrupt, "the table is not a stored one"};
  visit_stored(table, [&](const auto& stored) { outcome = put(tables_.*stored.rows, key, bytes); });
  if (outcome.has_error())
    return Error{Errc::corrupt, "table " + std::string{to_string(table)} + ", row \""
                                    + printable(key) + "\": " + outcome.error().what};
  return {};
}

Result<> Restore::index_row(std::span<const std::byte> bytes) {
  // A later version may know more tables; an earlier one fewer.
  if (bytes.size() % sizeof(Index) != 0)
    return Error{Errc::corrupt,
                 "the row of table indexes has " + std::to_string(bytes.size()) + " bytes"};
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size() / 8, stored_tables); ++i) {
    Index index = 0;
    for (const std::byte part : bytes.subspan(i * 8, 8))
      index = index << 8 | std::to_integer<Index>(part);
    tables_.indexes[i] = index;
  }
  return {};
}

Result<> Restore::offset_row(std::span<const std::byte> bytes) {
  if (bytes.size() != sizeof(Index))
    return Error{Errc::corrupt,
                 "the row of the index offset has " + std::to_string(bytes.size()) + " bytes"};
  tables_.index_offset = 0;
  for (const std::byte part : bytes)
    tables_.index_offset = tables_.index_offset << 8 | std::to_integer<Index>(part);
  return {};
}

Result<Tables> Restore::take() {
  Tables& t = tables_;
  std::vector<AllocRef> rows;
  rows.reserve(t.allocs.size());
  for (const auto& entry : t.allocs.all())
    rows.push_back(entry.value());
  t.allocs.clear();
  Released none;
  for (AllocRef& row : rows) {
    const auto alloc = *row->alloc;
    const auto* job = find_job_version(t, alloc);
    if (job == nullptr)
      return Error{Errc::corrupt, "table allocs, row \"" + copy(alloc.getId())
                                      + "\": its version of job \"" + copy(alloc.getJobId())
                                      + "\" is missing"};
    AllocRow& joined = row.writable();
    joined.job = *job;
    const auto* metric
        = t.alloc_metrics.find(metric_key(view(alloc.getEvalId()), alloc.getMetricNumber()));
    if (metric != nullptr) joined.metric = *metric;
    t.allocs.insert_or_assign(view(alloc.getId()), row);
    index_alloc(t, nullptr, row, none);
  }
  derive_drains(t);
  derive_evals(t);
  derive_deployments(t);
  derive_services(t);
  derive_variables(t);
  derive_policies(t);
  return std::move(t);
}

}  // namespace nomad::state
