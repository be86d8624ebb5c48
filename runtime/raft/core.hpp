// Core: the Raft algorithm as a deterministic state machine: inputs and the time go in, what to
// persist, send and apply comes out. No I/O, no clock, no thread, no global.
//
// Beyond the paper it has pre-vote, check-quorum, pipelined replication with flow control, read
// index and leader lease, learners, one-at-a-time membership change, leadership transfer and
// snapshot transfer in resumable chunks. A single voter elects itself at once.
//
// (1) Nothing that depends on a write leaves before `Persisted` has confirmed that write: votes and
//     acknowledgements wait, and the server counts its own log and vote only then. Only the
//     leader's requests run ahead of its own disk.
// (2) What waited for a write is dropped when its term has passed meanwhile.
// (3) `apply_index` is committed and durable here; it never falls.
// (4) A leader counts replicas only for entries of its own term.
// (5) A server that has heard from a leader within one election timeout (or has just started)
//     neither votes nor pre-votes, unless that leader hands over. The lease rests on this: it ends
//     one election timeout less a tenth after the start of the last round that a quorum answered,
//     so it is safe while no server's clock runs more than a tenth faster than the leader's.
// (6) After it has told a server to take over, a leader has no lease for the rest of its term; if
//     that server does not, it has itself elected for the next one.
// (7) What this server has slept through is nobody's silence: a stall of its own, which a late
//     `Tick` tells, puts off its election, its vote and its stepping down, within a bound. How long
//     it waits besides follows what it had to wait for lately (patience.hpp), and is never less
//     than the election timeout, so that (5) holds.
//
//               deadline                 quorum of pre-votes            quorum of votes
//   follower -------------> pre_candidate ---------------> candidate -------------------> leader
//      ^                          |                            |                            |
//      +---- leader or newer term, or the votes are lost ------+-- newer term, no quorum ---+
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/raft/config_change.hpp"
#include "runtime/raft/core_io.hpp"
#include "runtime/raft/log_view.hpp"
#include "runtime/raft/patience.hpp"
#include "runtime/raft/progress.hpp"

namespace nomad::raft {

struct CoreOptions {
  ServerId self;
  std::chrono::nanoseconds heartbeat_interval = std::chrono::milliseconds{100};
  std::chrono::nanoseconds election_timeout = std::chrono::milliseconds{1'000};

  std::size_t max_append_bytes = std::size_t{1} << 20;
  std::size_t max_inflight_requests = 256;
  std::size_t max_inflight_bytes = std::size_t{16} << 20;
  std::size_t chunk_bytes = std::size_t{256} << 10;

  /// A learner at most this many entries behind may become a voter.
  Index promote_lag = 1'000;

  /// No more entries than these stay in the log for a member that catches up by a snapshot.
  Index max_held_entries = 131'072;
};

/// What the server found on its disk.
struct StartState {
  HardState hard_state;
  std::optional<SnapshotMeta> snapshot;
  std::uint64_t snapshot_bytes = 0;
  LogView log;            ///< Behind the snapshot without a hole; may begin before it.
  ConfigHistory configs;  ///< All configurations from the log's base on.
};

class Core {
public:
  Core(CoreOptions options, StartState start, Random random, Time now);

  /// `now` never goes back. `Tick` at the start and at every `next_deadline`.
  Outputs step(Time now, Input input);

  /// When `Tick` is due; unset: nothing waits for time.
  std::optional<Time> next_deadline() const;

  /// When to look again: when `Tick` is due, but soon enough to notice that this server stalls.
  std::optional<Time> next_look(Time now) const;

  /// How long the leader's silence, or the quorum's, is borne now.
  Time patience() const { return patience_.at(now_); }

  /// Stalls of its own that this server has noticed, and how long they were together.
  std::uint64_t stalls() const { return stalls_; }

  Time stalled() const { return stalled_; }

  Role role() const { return role_; }

  Term current_term() const { return hard_state_.current_term; }

  const ServerId& voted_for() const { return hard_state_.voted_for; }

  const ServerId& leader() const { return leader_; }

  Index commit_index() const { return commit_index_; }

  Index apply_index() const;

  Index durable_index() const { return durable_index_; }

  const LogView& log() const { return log_; }

  const Configuration& configuration() const { return configs_.latest(); }

  /// The entry that made `configuration` so; it need not be committed.
  Index configuration_index() const { return configs_.latest_index(); }

  /// The leader's first entry of its term; it serves reads once this is applied. 0 otherwise.
  Index barrier_index() const { return role_ == Role::leader ? barrier_index_ : 0; }

  /// The server that is to take over; empty when none is.
  const ServerId& transfer_target() const { return transfer_target_; }

  /// Until when nobody else can be elected, `Time::max()` for a single voter; zero: no lease.
  Time lease_until() const;

  /// Since when the leader is silent; zero time on the leader.
  Time last_contact(Time now) const;

  /// What a snapshot of everything up to `index`, which is applied, stands for.
  SnapshotMeta snapshot_meta(Index index) const;

  /// Behind this index the log waits for a member that catches up by a snapshot, so that it need
  /// not be sent another one next. Whoever does not come forward is not waited for.
  std::optional<Index> log_held_behind() const;

  /// What is known of another member, while this server leads.
  const Progress* progress(const ServerId& peer) const;

private:
  // core.cpp: dispatch, persistence, roles
  void on(Tick input);
  void on(Received& input);
  void on(Persisted input);
  void on(AppliedUpTo input);
  void note_stall(Time late);
  bool is_disk_stuck() const;
  void finish();
  void send(const ServerId& to, Body body);
  void send_when_durable(const ServerId& to, Term term, Body body);
  Message envelope(const ServerId& to, Term term, Body body) const;
  bool is_acceptable(const Message& message);
  bool is_founding_vote(const Message& message) const;
  bool pass_term(const Message& message);
  void become_follower(Term term, const ServerId& leader);
  void hear_leader(const ServerId& leader);
  void set_hard_state(Term term, const ServerId& vote);
  void append(Entry entry);
  void truncate_from(Index first);
  void set_commit(Index index);
  const std::string& cluster_id() const;
  bool is_promotable() const;
  bool leads_alone() const;
  void reset_election_deadline();

  // election.cpp
  void campaign(bool pre_vote, bool transfer);
  void count_votes_now();
  void become_leader();
  void receive(const Message& message, const VoteRequest& request);
  void receive(const Message& message, const VoteReply& reply);
  void receive(const Message& message, const TimeoutNow&);
  bool leader_is_fresh() const;

  // replication.cpp
  void on(ProposeCommands& input);
  void on(Unreachable& input);
  void on(LogFetched& input);
  void receive(const Message& message, AppendRequest& request);
  void receive(const Message& message, const AppendReply& reply);
  void accept_entries(AppendRequest& request);
  void replicate_to(const ServerId& peer);
  void replicate_to_all();
  void send_entries(const ServerId& peer, Progress& progress, std::vector<Entry> entries);
  void advance_commit();

  // reads.cpp: heartbeats, leases, read index
  void on(RequestRead input);
  void receive(const Message& message, const Heartbeat& heartbeat);
  void receive(const Message& message, const HeartbeatReply& reply);
  void start_round();
  void acknowledge(Progress& progress, Round round);
  void grant_reads();
  void refuse_reads();
  void check_quorum();

  // membership.cpp: changes, transfer
  void on(ProposeChange& input);
  void on(Bootstrap& input);
  void on(TransferTo& input);
  void adopt_configuration();
  void after_commit_of_configuration();
  Result<> may_propose() const;
  void continue_transfer();
  ServerId most_advanced_voter() const;
  void abort_transfer();

  // snapshot_transfer.cpp
  void on(ChunkFetched& input);
  void on(ChunkStored input);
  void on(SnapshotInstalled& input);
  void on(SnapshotSaved& input);
  void receive(const Message& message, SnapshotChunk& chunk);
  void receive(const Message& message, const SnapshotReply& reply);
  void fetch_chunk(const ServerId& peer, Progress& progress);
  void start_snapshot(const ServerId& peer, Progress& progress);
  void came_forward(Progress& progress) const;

  CoreOptions options_;
  Random random_;
  Time now_;

  HardState hard_state_;
  LogView log_;
  ConfigHistory configs_;
  Index commit_index_ = 0;
  Index applied_index_ = 0;

  /// The newest snapshot on disk.
  std::optional<SnapshotMeta> snapshot_;
  std::uint64_t snapshot_bytes_ = 0;

  /// The cluster whose leader speaks to this server, which has no members in its log yet.
  std::string joining_cluster_id_;

  Role role_ = Role::follower;
  ServerId leader_;
  Time election_deadline_{0};
  int campaigns_ = 0;       ///< Of this server since it last heard of a leader or voted.
  Time leader_contact_{0};  ///< When a leader was heard last, or this server started.

  // ---- (7)
  Term contact_term_ = 0;  ///< Of the leader that was heard last.
  Patience patience_;
  Time put_off_{0};  ///< By own stalls, since a leader was heard or the quorum answered last.
  bool has_stalled_ = false;  ///< Since a leader was heard last.
  std::uint64_t stalls_ = 0;
  Time stalled_{0};

  // ---- writes under way (1) (2)
  struct Outstanding {
    std::uint64_t seq;
    Index last_index;  ///< Durable once the write is; lowered when the log is truncated.
    Time since;
  };

  LogWrite write_;  ///< Collected during this step.
  std::uint64_t write_seq_ = 0;
  std::uint64_t persisted_seq_ = 0;
  Index durable_index_ = 0;
  std::deque<Outstanding> outstanding_;
  std::deque<std::pair<std::uint64_t, Message>> deferred_;
  std::vector<Message> deferred_now_;  ///< Wait for this step's write.

  // ---- candidate
  std::map<ServerId, bool> votes_;
  std::uint64_t own_vote_seq_ = 0;  ///< Our own vote counts once this write is durable; 0: counted.
  bool own_vote_now_ = false;

  // ---- leader
  std::map<ServerId, Progress> progress_;
  Index barrier_index_ = 0;
  Time heartbeat_deadline_{0};
  Round round_ = 0;
  Round confirmed_round_ = 0;
  Time confirmed_since_{0};                    ///< When the confirmed round began.
  std::deque<std::pair<Round, Time>> rounds_;  ///< Not confirmed yet.

  struct PendingRead {
    std::uint64_t id;
    Index index;
    Round round;  ///< Granted when this round is confirmed.
  };

  std::deque<PendingRead> reads_;
  std::vector<std::uint64_t> early_reads_;  ///< Wait for the barrier.
  ServerId transfer_target_;
  Time transfer_deadline_{0};
  bool handed_over_ = false;  ///< (6)

  // ---- follower: an arriving snapshot
  struct Arriving {
    SnapshotMeta meta;
    std::uint64_t total_bytes = 0;
    std::uint64_t stored = 0;
    bool busy = false;        ///< A chunk is being stored.
    bool installing = false;  ///< Complete; the state machine is being replaced.
    ServerId leader;
    Round round = 0;
  };

  std::optional<Arriving> arriving_;

  Outputs out_;
};

}  // namespace nomad::raft
