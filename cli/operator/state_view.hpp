// The servers' state for people who look into files: as JSON, of a snapshot or of what came of a
// log.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "runtime/base/result.hpp"
#include "runtime/query/filter.hpp"
#include "runtime/state/snapshot.hpp"
#include "runtime/state/tables.hpp"
#include "runtime/storage/snapshot_archive.hpp"

namespace nomad::cli {

/// The tables as the API shows their rows. Variables stay sealed. With a filter only the rows for
/// which it holds: one that it can't be asked of, because its kind has no such field, is left out.
boost::json::object describe_state(const state::Tables& tables,
                                   const storage::ArchiveMeta& meta,
                                   const query::Filter* filter = nullptr);

/// Of a snapshot file.
Result<state::Tables> read_tables(const std::string& path);

/// Of a store.
Result<state::Tables> tables_of(const state::Snapshot& snapshot);

}  // namespace nomad::cli
