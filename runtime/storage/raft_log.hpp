// RaftLog: the log, term and vote of one server in a SQLite file (write-ahead log, synchronous
// FULL: one fsync per transaction).
//
// (1) What `write` reports as done is durable; on an error nothing of it is, and the server stops.
//     A full disk is `overloaded`: the same write can be tried again.
// (2) Entries have consecutive indexes. Every row carries a checksum over its position and content,
//     verified whenever it is read.
// (3) No checkpoint runs inside a commit. Whoever owns the log has it copied on another connection
//     (`WalCheckpointer`) and copies the rest himself, when that is little (checkpoint_pace.hpp);
//     `write` waits for one only before the write-ahead log would grow past its bound.
// (4) Beside the file stands its mark (`<file>.mark`, log_mark.hpp): what it must at least hold. A
//     log that ends earlier has lost what was acknowledged, and is refused by `verify`.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/raft/log_write.hpp"

namespace nomad::storage {

using raft::LogWrite;

struct LogOptions {
  std::string vfs = {};  ///< SQLite's name of a file system; empty is the system's own.

  /// The write-ahead log's pages, of 4 KiB, before a write waits for its restart: 256 MiB.
  int max_wal_pages = 65'536;

  /// Forgets what was marked: the log is what the file holds.
  bool accept_as_is = false;
};

/// The entries in the log; both 0 when it has never held one.
struct LogBounds {
  raft::Index first = 0;
  raft::Index last = 0;

  bool empty() const { return last < first || last == 0; }
};

class RaftLog {
public:
  /// Opens or creates the file, in a directory that exists.
  static Result<RaftLog> open(const std::string& path, const LogOptions& options = {});

  RaftLog(RaftLog&&) noexcept;
  RaftLog& operator=(RaftLog&&) noexcept;
  ~RaftLog();

  /// Whether the file is whole, and holds all that `self` has acknowledged but what a snapshot
  /// covers, which ends at `covered`. `corrupt` otherwise: it names the files and what is missing,
  /// and leaves them as they are. Before the first write of a start.
  Result<> verify(const raft::ServerId& self, raft::Index covered);

  Result<raft::HardState> hard_state();

  Result<LogBounds> bounds();

  /// All of `writes`, in order, in one transaction. Of a truncated suffix at most 2,000 rows go in
  /// the transaction itself, the others in transactions before it, from the end.
  Result<> write(std::span<const LogWrite> writes);

  Result<> write(const LogWrite& write) { return this->write(std::span{&write, 1}); }

  /// Removes entries up to and including `through`, at most 500 of them. True: more remain.
  Result<bool> truncate_prefix(raft::Index through);

  /// Entries `first`…`last`, fewer when they exceed `max_bytes` (but at least one). An index that
  /// the log does not hold is `not_found`; a row that is damaged or missing in the middle is
  /// `corrupt`.
  Result<std::vector<raft::Entry>> read(raft::Index first, raft::Index last, std::size_t max_bytes);

  /// Pages in the write-ahead log after the last write.
  int wal_pages() const;

  /// Copies what a WalCheckpointer has left, so that the next write begins the write-ahead log
  /// anew, unless somebody reads in it.
  Result<> finish_checkpoint();

  const std::string& path() const;

private:
  struct Parts;
  explicit RaftLog(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

/// The other connection: copies the write-ahead log into the file while writes go on. For a thread
/// of its own.
class WalCheckpointer {
public:
  static Result<WalCheckpointer> open(const std::string& path, const std::string& vfs = {});

  WalCheckpointer(WalCheckpointer&&) noexcept;
  WalCheckpointer& operator=(WalCheckpointer&&) noexcept;
  ~WalCheckpointer();

  /// Copies what can be copied without disturbing anybody. How many pages of the write-ahead log
  /// are in the file now.
  Result<int> run();

private:
  struct Parts;
  explicit WalCheckpointer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace nomad::storage
