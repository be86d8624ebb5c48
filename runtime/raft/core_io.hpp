// What goes into the core and what comes out of it, one step at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/raft/config_change.hpp"
#include "runtime/raft/log_write.hpp"
#include "runtime/raft/messages.hpp"
#include "runtime/raft/progress.hpp"

namespace nomad::raft {

// ---- inputs

/// Time has passed; nothing else.
struct Tick {
  /// How much later than it asked for the server comes to this: so long it did not run itself.
  Time late{0};
};

struct Received {
  Message message;
};

/// New commands, in order. All or none become entries.
struct ProposeCommands {
  std::vector<Bytes> payloads;
};

struct ProposeChange {
  MemberChange change;
};

/// Every write up to `seq` is durable.
struct Persisted {
  std::uint64_t seq = 0;
};

/// Everything up to `index` is applied; the log's cache may drop it.
struct AppliedUpTo {
  Index index = 0;
};

/// Makes a server that has never had anything the first one of a new cluster.
struct Bootstrap {
  Configuration configuration;
};

struct RequestRead {
  std::uint64_t id = 0;
};

/// To the most advanced voter when `target` is empty.
struct TransferTo {
  ServerId target;
};

/// A server could not be reached: what was sent to it is probably lost.
struct Unreachable {
  ServerId peer;
};

/// Answers `Outputs::log_fetches`. Empty entries: the log does not hold them any more.
struct LogFetched {
  ServerId peer;
  Index first = 0;
  std::vector<Entry> entries;
};

/// Answers `Outputs::chunk_fetches`, each. `data` is empty when the snapshot is gone or can't be
/// read.
struct ChunkFetched {
  ServerId peer;
  Index index = 0;
  std::uint64_t offset = 0;
  Bytes data;
};

/// Answers `Outputs::store_chunk`: so much of that snapshot is in a file; 0 starts again.
struct ChunkStored {
  Index index = 0;
  Term term = 0;
  std::uint64_t next_offset = 0;
};

/// Answers `Outputs::install`: the state machine holds the snapshot (or, not `ok`, is as before).
struct SnapshotInstalled {
  SnapshotMeta meta;
  std::uint64_t bytes = 0;
  bool ok = false;
};

/// A snapshot of our own is durable. The log may be cut up to `truncate_through`, but for what a
/// member still needs: `Outputs::truncate_through` tells.
struct SnapshotSaved {
  SnapshotMeta meta;
  std::uint64_t bytes = 0;
  Index truncate_through = 0;
};

using Input = std::variant<Tick,
                           Received,
                           ProposeCommands,
                           ProposeChange,
                           Bootstrap,
                           Persisted,
                           AppliedUpTo,
                           RequestRead,
                           TransferTo,
                           Unreachable,
                           LogFetched,
                           ChunkFetched,
                           ChunkStored,
                           SnapshotInstalled,
                           SnapshotSaved>;

// ---- outputs

/// Read these entries from storage for `peer`.
struct LogFetch {
  ServerId peer;
  Index first = 0;
  Index last = 0;
  std::size_t max_bytes = 0;
};

/// Read this part of a snapshot file for `peer`.
struct ChunkFetch {
  ServerId peer;
  Index index = 0;
  Term term = 0;
  std::uint64_t offset = 0;
  std::size_t max_bytes = 0;
};

/// Append to the file of an arriving snapshot.
struct StoreChunk {
  SnapshotMeta meta;
  std::uint64_t offset = 0;
  Bytes data;
};

struct ReadGranted {
  std::uint64_t id = 0;
  Index index = 0;  ///< Answer the read once this is applied.
};

struct Outputs {
  /// To be made durable, in the order of `write_seq`; then tell `Persisted`.
  std::optional<LogWrite> write;
  std::uint64_t write_seq = 0;

  std::vector<Message> messages;

  std::vector<ReadGranted> reads;
  std::vector<std::uint64_t> refused_reads;  ///< Not the leader (any more).

  /// The answer to a proposal or transfer of this step: the index of its first entry.
  std::optional<Result<Index>> proposed;

  std::vector<LogFetch> log_fetches;
  std::vector<ChunkFetch> chunk_fetches;
  std::optional<StoreChunk> store_chunk;

  /// The file of this snapshot is complete: verify it, restore the state machine from it.
  std::optional<SnapshotMeta> install;

  /// The log on the disk may be cut up to this entry; 0: it stays.
  Index truncate_through = 0;

  /// What an operator should know; one sentence each.
  std::vector<std::string> notices;

  /// The log or a peer contradicts what is committed here: stop the server.
  std::optional<Error> fatal;
};

}  // namespace nomad::raft
