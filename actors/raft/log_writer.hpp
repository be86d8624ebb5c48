// LogWriter: makes log writes durable. Everything that waits in its mailbox becomes one SQLite
// transaction with one fsync (group commit); long truncations go in short pieces between such
// batches, and take a fifth of its time at most.
//
// Owns:   the log's writing connection, the reserve beside it (storage/reserve.hpp), and the
//         wal_checkpointer (its child), which copies the write-ahead log into the file on another
//         thread.
// Takes:  Write, TruncatePrefix. Tells its listener Written after each commit; on a storage error
//         WriteFailed, after which it takes no more writes.
// Full:   when the disk is, it gives the reserve back, tells RoomChanged, and goes on; without one
//         what it was given waits, and is tried again each second. When the reserve can be taken
//         again, it tells RoomChanged.
// Parent: raft_node, report: the node ends. Detached: it blocks on fsync.
// Ends:   by an exit message; what waits in the mailbox is not written any more.
#pragma once

#include <memory>
#include <optional>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "runtime/raft/log_write.hpp"
#include "runtime/storage/raft_log.hpp"

namespace nomad::raft {

namespace log_writer {

/// Numbers rise by one from write to write.
struct Write {
  using is_message = void;
  std::uint64_t seq = 0;
  LogWrite write;
};

/// Removes entries up to and including `through`, when there is nothing to write.
struct TruncatePrefix {
  using is_message = void;
  Index through = 0;
};

/// Every write up to `seq` is durable.
struct Written {
  using is_message = void;
  std::uint64_t seq = 0;
};

/// What was not reported as written may or may not be there. The server must stop.
struct WriteFailed {
  using is_message = void;
  Error reason;
};

/// `lacking`: the disk is full, nothing should be written that can wait. Empty: there is room
/// again. The same is not told twice.
struct RoomChanged {
  using is_message = void;
  std::optional<Error> lacking;
};

}  // namespace log_writer

using LogWriter = actor::Interface<void(log_writer::Write), void(log_writer::TruncatePrefix)>;

using LogWriterListener = actor::Interface<void(log_writer::Written),
                                           void(log_writer::WriteFailed),
                                           void(log_writer::RoomChanged)>;

/// Detached. `counters` is written to.
LogWriter spawn_log_writer(const actor::Owner& owner,
                           std::shared_ptr<storage::RaftLog> log,
                           LogWriterListener listener,
                           std::shared_ptr<RaftCounters> counters);

}  // namespace nomad::raft
