// NodeState: the raft_node's inside: the core, and what turns its outputs into messages to other
// actors, calls of the Fsm and answers. Internal to actors/raft.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/raft/log_writer.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/raft/snapshotter.hpp"
#include "runtime/raft/core.hpp"
#include "runtime/raft/write_gathering.hpp"

namespace nomad::raft {

/// What the node works with, made by `start_raft` (or a test).
struct NodeParts {
  RaftOptions options;
  CoreOptions core_options;
  StartState start;
  std::uint64_t seed = 0;
  Index applied = 0;  ///< What `fsm` holds.
  std::shared_ptr<Fsm> fsm;

  /// Entries `first`…`last` of the log, fewer when they exceed `max_bytes` but at least one.
  /// `not_found`: the log does not hold `first`.
  std::function<Result<std::vector<Entry>>(Index first, Index last, std::size_t max_bytes)>
      read_log;
  /// The rows of a snapshot's file that the snapshotter has named.
  std::function<Result<std::unique_ptr<SnapshotRows>>(const std::string& path)> open_snapshot;

  std::string snapshot_directory;
  std::shared_ptr<ProposalQueue> queue;
  std::shared_ptr<LeaderLease> lease;
  std::shared_ptr<RaftCounters> counters;
  std::shared_ptr<LeaderView> leader = std::make_shared<LeaderView>();
  LeadershipListener listener;
  std::function<LogWriter(actor::System&, LogWriterListener)> spawn_log_writer;
  std::function<Snapshotter(actor::System&)> spawn_snapshotter;
  std::function<Time()> clock;
};

/// Messages that the node gets from itself and its children.
struct DrainProposals {
  using is_message = void;
};

/// `round` tells a timer that was overtaken.
struct TimeHasCome {
  using is_message = void;
  std::uint64_t round = 0;
};

struct ContinueApply {
  using is_message = void;
};

using NodeSelf = actor::WithInternal<RaftNode,
                                     void(DrainProposals),
                                     void(TimeHasCome),
                                     void(ContinueApply),
                                     void(log_writer::Written),
                                     void(log_writer::WriteFailed)>;

class NodeState {
public:
  static constexpr const char* name = "raft_node";

  using Self = NodeSelf::stateful_pointer<NodeState>;

  ~NodeState();

  /// Starts the children and the core's clock. Once.
  void start(Self self, NodeParts parts);

  /// Gives the core one input and carries out what comes of it.
  void step(Input input);

  /// Takes what the proposers' queue holds, unless more should gather there first.
  void drain();

  void propose(std::vector<Proposal> proposals);
  void change_member(const MemberChange& change, ProposalCallback callback);
  void read_index(actor::Promise<ReadReady> promise);
  void transfer(const ServerId& target, actor::Promise<Transferred> promise);
  void take_snapshot(std::optional<actor::Promise<SnapshotTaken>> promise);
  void receive(Incoming incoming);
  void bootstrap(const Configuration& configuration, ProposalCallback callback);

  /// Ends the actor as soon as another server has taken over, or none did in time.
  void retire();

  /// Goes on with what `apply` has left over.
  void continue_apply();

  RaftStatus status() const;

  void on_timer(std::uint64_t round);

  /// Answers everything that waits, and ends the actor with `reason`.
  void stop(const Error& reason, bool is_failure);

private:
  /// Answers everything that waits, stops the children.
  void release(const Error& reason);

  struct PendingProposal {
    Index index;
    ProposalCallback callback;
  };

  struct PendingRead {
    Index index;
    actor::Promise<ReadReady> promise;
  };

  /// Applies one portion of what is committed and durable.
  void apply();
  void carry_out(Outputs out);
  void carry_out_snapshots(Outputs& out);
  void after_step();
  void post(std::vector<Message> messages);
  RaftPeer* peer_for(const ServerId& id);
  void forget_peers();
  void arm_timer();
  void announce();
  void publish_lease();
  void lose_leadership();
  void answer_reads();
  void finish_transfer(bool moved);
  void draw_snapshot_delay();
  void snapshot_if_due();
  void on_snapshot_saved(const SnapshotMeta& meta, const snapshotter::Saved& saved);
  void on_snapshot_failed(const Error& reason);
  void answer_snapshot_askers(const SnapshotTaken& taken);
  void install(const SnapshotMeta& meta, const snapshotter::Saved& saved);
  void fetch_log(const LogFetch& fetch);
  void await(Index index, ProposalCallback callback);
  void fail_proposals(const Error& reason);
  void answer_applied(std::vector<Outcome> outcomes, const std::vector<Entry>& entries);
  Result<std::vector<Entry>> entries_to_apply(Index first, Index last);

  Self self_ = nullptr;
  NodeParts parts_;
  std::optional<Core> core_;
  LogWriter writer_;
  Snapshotter snapshotter_;

  /// A server that this one speaks with: a member, or one that has spoken.
  struct KnownPeer {
    RaftPeer actor;
    std::string address;
    std::shared_ptr<PeerCounters> counters;
    Time used{0};
  };

  std::map<ServerId, KnownPeer> peers_;
  Index peers_configuration_ = 0;  ///< Whose addresses `peers_` has.
  bool retiring_ = false;

  Index applied_ = 0;
  bool apply_scheduled_ = false;
  std::deque<PendingProposal> proposals_;  ///< Grows by `await` alone.
  WriteGathering gathering_;               ///< Its rounds last as long as there are `proposals_`.
  std::uint64_t next_read_ = 1;
  std::map<std::uint64_t, actor::Promise<ReadReady>> asked_reads_;
  std::deque<PendingRead> granted_reads_;
  std::optional<actor::Promise<Transferred>> transfer_;

  Role announced_role_ = Role::follower;
  LeadershipChanged announced_;
  bool has_announced_ = false;

  std::uint64_t timer_round_ = 0;
  std::optional<Time> timer_at_;

  bool snapshotting_ = false;
  Index snapshot_index_ = 0;
  Time snapshot_since_{0};
  double snapshot_delay_ = 1;  ///< Of the interval and the count, until the next one is drawn.
  Random chance_{0};

  /// Who asked for a snapshot, and what was applied then: an older one is no answer.
  struct SnapshotAsker {
    Index at_least;
    actor::Promise<SnapshotTaken> promise;
  };

  std::vector<SnapshotAsker> snapshot_askers_;
  bool stopped_ = false;
};

/// The node as an actor; `detached` unless a test drives it.
RaftNode spawn_raft_node(actor::System& system, NodeParts parts, bool detached);

}  // namespace nomad::raft
