// What moves snapshot files between servers: reading parts of one, and collecting the parts of
// one that arrives until it is whole and verified.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/base/result.hpp"
#include "runtime/raft/bytes.hpp"
#include "runtime/raft/snapshot_meta.hpp"
#include "runtime/storage/snapshot_file.hpp"

namespace nomad::storage {

/// Up to `max_bytes` from `offset`; fewer at the end of the file.
Result<raft::Bytes> read_snapshot_part(const std::string& path,
                                       std::uint64_t offset,
                                       std::size_t max_bytes);

Result<std::uint64_t> file_size(const std::string& path);

/// Adds `data` at `offset` to the file of the arriving snapshot `meta` in `directory`; an offset
/// of 0 begins it anew. Not durable until `finish_arrived`. Returns the file's size; of what could
/// not be written whole nothing is left.
Result<std::uint64_t> store_snapshot_part(const std::string& directory,
                                          const raft::SnapshotMeta& meta,
                                          std::uint64_t offset,
                                          const raft::Bytes& data);

/// Takes in a snapshot's rows, or says why it can't.
using TakeRows = std::function<Result<>(raft::SnapshotRows&)>;

/// Verifies the arrived file completely and, if it is sound, stands for `meta` and its rows are
/// taken, makes it durable and gives it a snapshot's name. Otherwise removes it: the snapshots that
/// were there before stay the newest.
Result<SnapshotFile> finish_arrived(const std::string& directory,
                                    const raft::SnapshotMeta& meta,
                                    const TakeRows& take);

}  // namespace nomad::storage
