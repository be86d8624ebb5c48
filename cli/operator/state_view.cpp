#include "cli/operator/state_view.hpp"

#include <boost/json.hpp>

#include "runtime/object/json_codec.hpp"
#include "runtime/state/restore.hpp"
#include "runtime/storage/snapshot_file.hpp"

namespace nomad::cli {
namespace {

/// Appends the row if it is wanted.
template <class Row>
void add_row(boost::json::array& rows, const Row& row, const query::Filter* filter) {
  if (filter != nullptr && !filter->matches(row).value_or(false)) return;
  if (auto shown = parse_json(to_json(row))) rows.push_back(std::move(*shown));
}

template <class T>
void add_rows(boost::json::object& out,
              std::string_view name,
              const state::PersistentMap<Object<T>>& table,
              const query::Filter* filter) {
  boost::json::array rows;
  for (const auto& entry : table.all())
    add_row(rows, *entry.value(), filter);
  out[boost::json::string_view{name.data(), name.size()}] = std::move(rows);
}

}  // namespace

boost::json::object describe_state(const state::Tables& tables,
                                   const storage::ArchiveMeta& meta,
                                   const query::Filter* filter) {
  boost::json::object out;
  add_rows(out, "Jobs", tables.jobs, filter);
  add_rows(out, "JobVersions", tables.job_versions, filter);
  add_rows(out, "JobSummaries", tables.job_summaries, filter);
  add_rows(out, "Nodes", tables.nodes, filter);
  add_rows(out, "NodePools", tables.node_pools, filter);
  add_rows(out, "Namespaces", tables.namespaces, filter);
  add_rows(out, "Evals", tables.evals, filter);
  add_rows(out, "Deployments", tables.deployments, filter);
  add_rows(out, "Services", tables.services, filter);
  add_rows(out, "Variables", tables.variables, filter);
  add_rows(out, "RootKeyMeta", tables.root_keys, filter);
  boost::json::array allocs;
  for (const auto& entry : tables.allocs.all())
    add_row(allocs, entry.value()->alloc.reader(), filter);
  out["Allocs"] = std::move(allocs);
  out["SnapshotMeta"] = boost::json::array{boost::json::object{
      {"ID", meta.id}, {"Index", meta.index}, {"Term", meta.term}, {"Version", meta.version}}};
  return out;
}

Result<state::Tables> read_tables(const std::string& path) {
  auto reader = NOMAD_TRY(storage::SnapshotReader::open(path));
  const auto names = NOMAD_TRY(reader->tables());
  state::Restore restored;
  for (const auto& name : names)
    if (const auto table = state::stored_table(name))
      NOMAD_TRY(reader->read(name, [&](std::string_view key, std::span<const std::byte> bytes) {
        return restored.row(*table, key, bytes);
      }));
  return restored.take();
}

Result<state::Tables> tables_of(const state::Snapshot& snapshot) {
  state::Restore restored;
  for (std::uint32_t i = 0; i < state::stored_tables; ++i) {
    const auto table = static_cast<state::Table>(i);
    NOMAD_TRY(
        snapshot.for_each_row(table, [&](std::string_view key, std::span<const std::byte> bytes) {
          return restored.row(table, key, bytes);
        }));
  }
  return restored.take();
}

}  // namespace nomad::cli
