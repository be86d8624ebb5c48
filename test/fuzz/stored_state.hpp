// What fuzz targets that change the state check of it: everything in it can be shown, and a
// snapshot of it gives it back to the byte.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/object/json_codec.hpp"
#include "runtime/state/restore.hpp"
#include "runtime/state/store.hpp"
#include "test/fuzz/input.hpp"

namespace fuzz {

/// All stored rows, one after the other, as they are written to disk.
inline std::string rows_of(const nomad::state::Snapshot& snapshot) {
  std::string out;
  const auto add = [&out](std::string_view part) {
    out += std::to_string(part.size());
    out += ':';
    out += part;
  };
  for (std::uint32_t table = 0; table < nomad::state::stored_tables; ++table) {
    add(nomad::state::to_string(static_cast<nomad::state::Table>(table)));
    const auto row = [&](std::string_view key, std::span<const std::byte> bytes) {
      add(key);
      add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      return nomad::Result<>{};
    };
    require(snapshot.for_each_row(static_cast<nomad::state::Table>(table), row).has_value(),
            "every table can be walked");
  }
  return out;
}

/// Shows every object that the API shows. Returns the bytes of JSON.
inline std::size_t render_all(const nomad::state::Snapshot& snapshot) {
  std::size_t bytes = 0;
  const auto add = [&bytes](const auto& rows) {
    for (const auto& entry : rows)
      bytes += nomad::to_json(*entry.value()).size();
  };
  const auto& tables = snapshot.tables();
  add(tables.jobs.all());
  add(tables.job_versions.all());
  add(tables.job_summaries.all());
  add(tables.nodes.all());
  add(tables.node_pools.all());
  add(tables.namespaces.all());
  add(tables.evals.all());
  add(tables.deployments.all());
  add(tables.services.all());
  add(tables.variables.all());
  add(tables.scaling_events.all());
  add(tables.scaling_policies.all());
  add(tables.job_submissions.all());
  for (const auto& entry : snapshot.allocs())
    bytes += nomad::to_json(entry.value()->alloc.reader()).size();
  return bytes + nomad::to_json(*snapshot.scheduler_configuration()).size();
}

/// Saves the state and puts it together anew.
inline void check_restore(const nomad::state::Snapshot& snapshot) {
  nomad::state::Restore restore;
  for (std::uint32_t at = 0; at < nomad::state::stored_tables; ++at) {
    const auto table = static_cast<nomad::state::Table>(at);
    const auto read
        = snapshot.for_each_row(table, [&](std::string_view key, std::span<const std::byte> bytes) {
            return restore.row(table, key, bytes);
          });
    require(read.has_value(), "a stored row can be restored");
  }
  require(restore.index_row(snapshot.index_row()).has_value(), "indexes can be restored");
  nomad::state::Store restored;
  auto tables = restore.take();
  require(tables.has_value(), "a saved state can be put together");
  restored.replace(std::move(*tables), snapshot.index());
  require(rows_of(restored.snapshot()) == rows_of(snapshot), "a restored state is the saved one");
}

}  // namespace fuzz
