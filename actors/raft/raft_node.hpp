// RaftNode: one server's part in the replicated log. It drives the deterministic core
// (runtime/raft), hands writes to the log_writer, applies what is committed to the Fsm, and answers
// each proposal after commit, durability, apply and publication, in this order.
//
// Owns:   the core, the Fsm's writer side, log_writer and snapshotter (its children).
// Takes:  Propose and the other messages below; from other threads by `Proposer`.
// Parent: the agent's wiring, by `start_raft`. A storage error ends the node with that error (the
//         parent's `on_down` sees a crash): the server must stop then, it can't promise anything.
// Ends:   by an exit message; what still waits is answered with `unavailable`.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "runtime/raft/configuration.hpp"
#include "runtime/raft/fsm.hpp"

namespace nomad::raft {

/// Writes one command; answered with `Applied` (see proposer.hpp for order and errors). Threads
/// outside the actor system use the `Proposer`, which costs less.
struct Propose {
  using is_message = void;
  Bytes payload;
};

/// The server may answer reads from its published snapshot: it holds at least `index`.
struct ReadReady {
  using is_message = void;
  Index index = 0;
};

/// Asks for a linearizable read point: answered after a quorum has confirmed this leader and all
/// that was committed before has been applied. `unavailable` when not the leader.
struct ReadIndex {
  using is_message = void;
};

enum class Role : std::uint8_t { follower, pre_candidate, candidate, leader };

/// What `operator raft list-peers`, status endpoints and metrics show.
struct RaftStatus {
  using is_message = void;
  Role role = Role::follower;
  Term current_term = 0;
  ServerId self;
  ServerId leader;             ///< Empty when unknown.
  std::string leader_address;  ///< Empty when unknown.
  Index commit_index = 0;
  Index applied_index = 0;
  Index last_index = 0;
  Index snapshot_index = 0;
  Configuration configuration;
  /// Since the last word from the leader; zero on the leader itself.
  std::chrono::nanoseconds last_contact{0};
};

struct GetStatus {
  using is_message = void;
};

/// Takes a snapshot now (it is taken by itself too, see `RaftOptions`).
struct TakeSnapshot {
  using is_message = void;
};

/// A snapshot of everything up to `index` is durable.
struct SnapshotTaken {
  using is_message = void;
  Index index = 0;
  std::string path;
};

/// Told on every change, and once at the start. `ready` becomes true after the leader has applied
/// an entry of its own term: everything earlier leaders acknowledged is then in the Fsm.
struct LeadershipChanged {
  using is_message = void;
  bool leads = false;  ///< This server is the leader.
  bool ready = false;  ///< It is, and has caught up.
  Term term = 0;
  ServerId leader;  ///< Whoever leads, as far as known.
  std::string leader_address;
};

using LeadershipListener = actor::Interface<void(LeadershipChanged)>;

using RaftNode = actor::Interface<Applied(Propose),
                                  ReadReady(ReadIndex),
                                  RaftStatus(GetStatus),
                                  SnapshotTaken(TakeSnapshot)>;

struct RaftOptions {
  std::string directory;  ///< `<data_dir>/server/raft`; created when missing.
  ServerId self;          ///< This server's id.
  std::string address;    ///< Where the other servers reach it; may be empty for a single voter.

  /// On an empty directory: become the only voter of a new cluster at once. Otherwise an empty
  /// directory waits to be added to a cluster.
  bool bootstrap = true;

  std::chrono::milliseconds heartbeat_interval{100};
  std::chrono::milliseconds election_timeout{1'000};

  /// A snapshot is taken when this many entries were applied since the last one, looked at every
  /// `snapshot_interval`; `trailing_entries` stay in the log behind it.
  std::uint64_t snapshot_threshold = 8192;
  std::chrono::seconds snapshot_interval{120};
  std::uint64_t trailing_entries = 10'240;
  std::uint32_t snapshots_kept = 2;

  std::size_t max_entry_bytes = std::size_t{16} << 20;
  std::size_t max_waiting_entries = 65'536;
  std::size_t max_waiting_bytes = std::size_t{256} << 20;
};

/// What a started node offers.
struct StartedRaft {
  RaftNode node;
  Proposer proposer;
  std::shared_ptr<const LeaderLease> lease;
  std::shared_ptr<const RaftCounters> counters;
};

/// Opens the storage, restores the newest snapshot into `fsm` and starts the actors; the rest of
/// the log is applied as soon as it is known to be committed. Errors (corruption, another format,
/// no permission, full disk) name the file and, where it applies, the row. `fsm` outlives the
/// node; after this call only the node calls its non-const methods.
Result<StartedRaft> start_raft(caf::actor_system& system,
                               const RaftOptions& options,
                               std::shared_ptr<Fsm> fsm,
                               LeadershipListener listener);

}  // namespace nomad::raft
