// Snapshot archives: what `operator snapshot save` writes: a gzip'd tar of three files, as Nomad's
// are, though what is in them is ours:
//   meta.json    Version, ID, Index, Term, Size of state.bin, ClusterID
//   state.bin    the snapshot file (snapshot_file.hpp), which the sqlite3 shell can open
//   SHA256SUMS   the digests of the other two
//
// An archive is read completely and verified (gzip's sum, sizes, both digests, then every row of
// the snapshot) before anything is made of it. Errors say what is wrong: truncated, corrupted, of a
// newer version, of another program.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/result.hpp"

namespace nomad::storage {

inline constexpr std::int64_t archive_version = 1;

struct ArchiveMeta {
  std::string id;  ///< "3-8192-1690000000000": term, index, time of the archive in milliseconds.
  std::uint64_t index = 0;
  std::uint64_t term = 0;
  std::int64_t version = archive_version;
  std::uint64_t size = 0;  ///< Of state.bin.
  std::string cluster_id;
};

/// Writes `snapshot_path`, a whole snapshot file, as an archive to `archive_path`, durably. `now`
/// is in Unix milliseconds.
Result<ArchiveMeta> write_archive(const std::string& snapshot_path,
                                  const std::string& archive_path,
                                  std::int64_t now);

/// "sha-256=<base64>" of a file, as HTTP's header Digest shows it.
Result<std::string> file_digest(const std::string& path);

/// Verifies the archive and leaves its snapshot file at `snapshot_path`, or nothing on an error.
/// Not more than `max_bytes` are unpacked.
Result<ArchiveMeta> read_archive(const std::string& archive_path,
                                 const std::string& snapshot_path,
                                 std::uint64_t max_bytes = std::uint64_t{16} << 30);

}  // namespace nomad::storage
