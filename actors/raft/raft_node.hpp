// RaftNode: one server's part in the replicated log. It drives the deterministic core
// (runtime/raft), hands writes to the log_writer, applies what is committed to the Fsm, and answers
// each proposal after commit, durability, apply and publication, in this order.
//
// Owns:   the core, the Fsm's writer side; log_writer, snapshotter and a raft_peer for each server
//         that it speaks with (its children).
// Takes:  Propose and the other messages below; from other threads by `Proposer`.
// Parent: server, end_owner: after a storage error, or a bug, it can't promise anything.
// Ends:   by an exit message; a leader hands over first, if it can within an election timeout.
//         What still waits is answered with `unavailable`.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/raft/carrier.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/raft/raft_inbox.hpp"
#include "actors/raft/raft_peer.hpp"
#include "runtime/raft/config_change.hpp"
#include "runtime/raft/configuration.hpp"
#include "runtime/raft/fsm.hpp"
#include "runtime/raft/messages.hpp"

namespace nomad::telemetry {
class Registry;
}

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

/// What the leader knows of another member.
struct PeerStatus {
  ServerId id;
  Index match_index = 0;                ///< Durable there and equal to the leader's log.
  std::chrono::nanoseconds silence{0};  ///< Since it last answered anything.
  bool reachable = true;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_lost = 0;
};

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
  Term last_term = 0;  ///< Of the entry at `last_index`.
  Configuration configuration;
  Index configuration_index = 0;
  std::vector<PeerStatus> peers;  ///< On the leader: every other member.
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

/// Adds, promotes, removes… one server; answered with `Applied` when the change is committed, or
/// why it is refused.
struct ChangeMember {
  using is_message = void;
  MemberChange change;
};

/// Makes this server, which has never had a log, the first of a new cluster of these members;
/// answered when the entry is committed, so only after the others voted for it. `conflict` when
/// there is a log already.
struct BootstrapCluster {
  using is_message = void;
  Configuration configuration;
};

/// This server does not lead any more.
struct Transferred {
  using is_message = void;
};

/// Hands leadership to `target`, or to the most advanced voter when it is empty.
struct TransferLeadership {
  using is_message = void;
  ServerId target;
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
                                  SnapshotTaken(TakeSnapshot),
                                  Applied(ChangeMember),
                                  Applied(BootstrapCluster),
                                  Transferred(TransferLeadership),
                                  void(Incoming),
                                  void(PeerUnreachable)>;

struct RaftOptions {
  std::string directory{};  ///< `<data_dir>/server/raft`; created when missing.
  ServerId self{};          ///< This server's id.
  std::string address{};    ///< Where the other servers reach it; may be empty for a single voter.

  /// On an empty directory: become the only voter of a new cluster at once. Otherwise an empty
  /// directory waits to be added to a cluster.
  bool bootstrap = true;

  std::chrono::milliseconds heartbeat_interval{100};
  std::chrono::milliseconds election_timeout{1'000};

  /// A snapshot is taken when this many entries were applied since the last one, but not before
  /// `snapshot_interval` has passed since then, unless it is sixteen times as many. The interval
  /// and the sixteen are drawn up to half longer each time, so that servers don't write together.
  /// `trailing_entries` stay in the log behind it.
  std::uint64_t snapshot_threshold = 8192;
  std::chrono::seconds snapshot_interval{120};
  std::uint64_t trailing_entries = 10'240;
  std::uint32_t snapshots_kept = 2;

  std::size_t max_entry_bytes = std::size_t{16} << 20;
  std::size_t max_waiting_entries = 65'536;
  std::size_t max_waiting_bytes = std::size_t{256} << 20;

  /// Carries messages to the other servers; not needed while there is none.
  Carrier carrier{};

  /// What may wait to be taken in from all other servers.
  std::size_t max_inbox_bytes = std::size_t{64} << 20;

  std::shared_ptr<telemetry::Registry> metrics{};  ///< Null: nothing is measured.
};

struct NodeParts;

/// The node alone, made of what `start_raft` puts together, or a test; with a thread of its own if
/// `detached`.
RaftNode spawn_raft_node(const actor::Owner& owner, NodeParts parts, bool detached);

/// The id of the cluster that these servers found together: the same wherever it is computed.
std::string new_cluster_id(const std::vector<Member>& members);

/// What a started node offers. To stop it send `node` an exit message (`actor::stop`); its children
/// end with it.
struct StartedRaft {
  RaftNode node;
  Proposer proposer;
  std::shared_ptr<const LeaderLease> lease;
  std::shared_ptr<const RaftCounters> counters;
  RaftInbox inbox;
  std::shared_ptr<const LeaderView> leader;
};

/// Opens the storage, restores the newest snapshot into `fsm` and starts the actors; the rest of
/// the log is applied as soon as it is known to be committed. Errors (corruption, another format,
/// no permission, full disk) name the file and, where it applies, the row. `fsm` outlives the
/// node; after this call only the node calls its non-const methods.
Result<StartedRaft> start_raft(const actor::Owner& owner,
                               const RaftOptions& options,
                               std::shared_ptr<Fsm> fsm,
                               LeadershipListener listener);

}  // namespace nomad::raft
