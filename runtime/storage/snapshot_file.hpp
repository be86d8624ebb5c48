// Snapshot files: a state written table by table into a SQLite file of its own, which the sqlite3
// shell can open.
//
// (1) A file named `snapshot-<term>-<index>.db` is whole: it is written under another name, synced,
//     renamed, and its directory synced.
// (2) Each row carries a checksum over table, key and value; the meta data name each table's number
//     of rows and a checksum over all of them, so that neither a changed nor a missing row passes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/raft/fsm.hpp"
#include "runtime/raft/snapshot_meta.hpp"

namespace nomad::storage {

struct SnapshotFile {
  std::string path;
  raft::Index index = 0;
  raft::Term term = 0;
};

/// The name of a whole snapshot's file.
std::string snapshot_name(raft::Term term, raft::Index index);

/// The whole snapshots in `directory`, the newest first. A missing directory has none.
Result<std::vector<SnapshotFile>> list_snapshots(const std::string& directory);

/// Removes all but the `keep` newest, and what an interrupted writer has left.
Result<> remove_old_snapshots(const std::string& directory, std::size_t keep);

/// Writes one snapshot; a large one ends with `overloaded` before it has filled the disk. Dropped
/// before `finish`, it leaves nothing.
class SnapshotWriter : public raft::SnapshotSink {
public:
  static Result<std::unique_ptr<SnapshotWriter>> create(const std::string& directory,
                                                        const raft::SnapshotMeta& meta,
                                                        const std::string& vfs = {});
  ~SnapshotWriter() override;

  Result<> begin_table(std::string_view name) override;
  Result<> row(std::string_view key, std::span<const std::byte> value) override;

  /// Makes the file durable and gives it its name.
  Result<SnapshotFile> finish();

private:
  struct Parts;
  explicit SnapshotWriter(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

/// Reads one snapshot, verifying each row as it passes and each table at its end.
class SnapshotReader : public raft::SnapshotRows {
public:
  /// `corrupt` when the file is not a snapshot, of a newer format, or its meta data is damaged.
  static Result<std::unique_ptr<SnapshotReader>> open(const std::string& path,
                                                      const std::string& vfs = {});
  ~SnapshotReader() override;

  const raft::SnapshotMeta& meta() const;

  Result<std::vector<std::string>> tables() override;
  Result<> read(std::string_view table, const Row& row) override;

  /// Reads everything once: for a file that came from elsewhere, before anything is replaced.
  Result<> verify();

private:
  struct Parts;
  explicit SnapshotReader(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace nomad::storage
