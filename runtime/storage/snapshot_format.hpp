// The meta data of a snapshot file, for its writer and its reader. Internal to runtime/storage.
//
//   snapshot_meta(name, value, checksum)       index, term, configuration_index, cluster_id,
//                                              configuration (encoded), members (for the shell)
//   snapshot_tables(name, rows, checksum, self)  each table's rows, the checksum over all of them,
//                                              and that of this row
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/raft/snapshot_meta.hpp"
#include "runtime/storage/sqlite.hpp"

namespace nomad::storage::snapshot_format {

inline constexpr FileFormat file{.name = "snapshot", .id = 0x6e6d'5353, .version = 1};

/// So much of a file is written in one go. Then it is synced, for the log's own fdatasync waits for
/// what the file system still has to write out of a snapshot; and asks whether it may go on
/// (`require_room`), for the log needs the last room. Smaller ones are written whatever is left:
/// they let the log be cut.
inline constexpr std::size_t stretch = std::size_t{8} << 20;

/// What a table holds, summed up.
struct TableSum {
  std::string name;
  std::uint64_t rows = 0;
  std::uint64_t checksum = 0;

  /// Counts a row in; returns the row's own checksum.
  std::uint64_t add(std::string_view key, std::span<const std::byte> value);

  friend bool operator==(const TableSum&, const TableSum&) = default;
};

Result<> write_meta(Database& database,
                    const raft::SnapshotMeta& meta,
                    const std::vector<TableSum>& tables);

/// `corrupt` when something is missing or fails its checksum.
Result<> read_meta(Database& database, raft::SnapshotMeta& meta, std::vector<TableSum>& tables);

}  // namespace nomad::storage::snapshot_format
