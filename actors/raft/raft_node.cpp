#include "actors/raft/raft_node.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "actors/core/supervise.hpp"
#include "actors/raft/applier.hpp"
#include "actors/raft/known_peers.hpp"
#include "actors/raft/leadership_changes.hpp"
#include "actors/raft/node_parts.hpp"
#include "actors/raft/pending_proposals.hpp"
#include "actors/raft/pending_reads.hpp"
#include "actors/raft/snapshot_store.hpp"
#include "runtime/base/log.hpp"
#include "runtime/storage/reserve.hpp"

namespace nomad::raft {
namespace {

/// What is applied before other messages get their turn.
constexpr std::size_t apply_entries = 4'096;
constexpr std::size_t apply_bytes = std::size_t{8} << 20;

/// Of a leader whose disk is full, to a server that may have room.
constexpr Time hand_over_pause = std::chrono::minutes{1};

/// Applying the largest restore, or installing the largest snapshot, takes less.
constexpr auto longest_turn = std::chrono::minutes{60};

constexpr auto free_mib_to_go_on = 2 * storage::Reserve::bytes >> 20;

/// What drives the core, and turns its outputs into messages to other actors, calls of the Fsm and
/// answers.
class NodeState {
public:
  static constexpr const char* name = "raft_node";

  explicit NodeState(NodeSelf::pointer actor) : self_{actor} {}

  ~NodeState();

  /// Starts the children and the core's clock. Once.
  void start(NodeParts parts, bool detached);

  /// Gives the core one input and carries out what comes of it.
  void step(Input input);

  void tick_if_due();

  /// Takes what the proposers' queue holds, unless more should gather there first.
  void drain();

  void propose(std::vector<Proposal> proposals);
  void change_member(const MemberChange& change, ProposalCallback callback);
  void read_index(actor::Promise<ReadReady> promise);
  void transfer(const ServerId& target, actor::Promise<Transferred> promise);

  void take_snapshot(actor::Promise<SnapshotTaken> promise) { snapshots_.take(std::move(promise)); }

  void receive(Incoming incoming);
  void bootstrap(const Configuration& configuration, ProposalCallback callback);

  /// Ends the actor as soon as another server has taken over, or none did in time.
  void retire();

  /// Goes on with what `apply` has left over.
  void continue_apply();

  RaftStatus status() const;

  void on_timer(std::uint64_t round);

  /// While the disk is full no proposals are taken, and another server should lead.
  void on_room(const std::optional<Error>& lacking);

  /// Answers everything that waits, and ends the actor with `reason`.
  void stop(const Error& reason, bool is_failure);

private:
  /// Answers everything that waits, stops the children.
  void release(const Error& reason);

  /// Applies one portion of what is committed and durable.
  void apply();
  void apply(std::vector<Entry> entries);
  template <class Message, class Done>
  void at_applier(Message message, Done done);
  void applied(const std::vector<Entry>& entries, std::vector<Outcome> outcomes);
  void go_on();
  void carry_out(Outputs out);
  void after_step();
  void arm_timer();
  void lose_leadership();
  void finish_transfer(bool moved);
  void install(const SnapshotMeta& meta, const snapshotter::Arrived& arrived);
  void fetch_log(const LogFetch& fetch);
  void hand_over();
  /// For an input that asks for one entry.
  void propose_one(Input input, ProposalCallback callback);

  struct PendingEntry {
    ProposalCallback callback;
    std::size_t bytes = 0;
  };

  /// For an input that asks for as many entries as there are entries.
  void enter(Input input, std::vector<PendingEntry> entries);

  NodeSelf::pointer self_;
  NodeParts parts_;
  std::optional<Core> core_;
  LogWriter writer_;
  Applier applier_;
  KnownPeers peers_{self_, parts_};
  SnapshotStore snapshots_{
      self_,
      parts_,
      core_,
      {.applied = [this] { return applied_; },
       .is_applying = [this] { return under_way_ > 0; },
       .step = [this](Input input) { step(std::move(input)); },
       .install = [this](const SnapshotMeta& meta,
                         const snapshotter::Arrived& arrived) { install(meta, arrived); }}};
  bool retiring_ = false;

  Index applied_ = 0;
  bool apply_scheduled_ = false;
  int under_way_ = 0;  ///< At the applier.
  PendingProposals proposals_{parts_};
  PendingReads reads_;
  std::optional<actor::Promise<Transferred>> transfer_;

  LeadershipChanges news_{self_, parts_};
  Role last_role_ = Role::follower;

  std::uint64_t timer_round_ = 0;
  std::optional<Time> timer_at_;

  std::optional<Error> read_only_;  ///< Why proposals are refused.
  Time may_hand_over_{0};

  bool stopped_ = false;
};

NodeState::~NodeState() {
  // Ended without `stop` (killed, or by a bug): nobody may wait for ever.
  if (core_ && !stopped_) release({Errc::unavailable, "the raft node has ended"});
}

void NodeState::start(NodeParts parts, bool detached) {
  parts_ = std::move(parts);
  applied_ = parts_.applied;
  const Index newest = parts_.start.snapshot ? parts_.start.snapshot->index : 0;
  if (parts_.start.snapshot) proposals_.note_members(parts_.start.snapshot->configuration);
  core_.emplace(parts_.core_options, std::move(parts_.start), Random{parts_.seed}, parts_.clock());
  writer_ = parts_.spawn_log_writer(self_, NodeSelf{self_});
  applier_ = spawn_applier(self_, parts_.fsm, parts_.read_log, detached);
  snapshots_.start(newest);
  actor::on_down(self_, [this](const actor::Down& down) {
    if (!down.crashed && down.source != writer_.address() && !snapshots_.is_child(down.source))
      return;  // a peer that was not needed any more
    stop({Errc::internal, "an actor of the log has ended: " + down.reason.what}, true);
  });
  actor::on_exit(self_, [this] { retire(); });
  const NodeSelf handle{self_};
  parts_.queue->set_wake([handle] { actor::tell(handle, DrainProposals{}); });
  news_.publish(*core_, applied_);
  step(Tick{});
}

/// An input finds the core as of now: a stall of this actor is noticed before the core judges by
/// the time, and a leader's heartbeat waits behind nothing.
void NodeState::tick_if_due() {
  const auto now = parts_.clock();
  if (!timer_at_ || now < *timer_at_) return;
  const auto late = now - *timer_at_;
  timer_at_.reset();
  ++timer_round_;  // the timer is overtaken
  carry_out(core_->step(now, Tick{late}));
}

void NodeState::step(Input input) {
  if (!stopped_) tick_if_due();
  if (stopped_) return;
  carry_out(core_->step(parts_.clock(), std::move(input)));
  after_step();
}

void NodeState::carry_out(Outputs out) {
  for (const auto& notice : out.notices)
    log::info("raft", notice);
  if (out.fatal) return stop(*out.fatal, true);
  if (out.write) self_->send(writer_, log_writer::Write{out.write_seq, std::move(*out.write)});
  if (out.truncate_through > 0)
    self_->send(writer_, log_writer::TruncatePrefix{out.truncate_through});
  if (!out.messages.empty()) peers_.post(std::move(out.messages), *core_);
  reads_.carry_out(out);
  for (const auto& fetch : out.log_fetches)
    fetch_log(fetch);
  snapshots_.carry_out(out);
}

void NodeState::after_step() {
  if (stopped_) return;
  const auto before = std::exchange(last_role_, core_->role());
  if (before == Role::leader && last_role_ != Role::leader) lose_leadership();
  if (before != Role::leader && last_role_ == Role::leader) ++parts_.counters->elections;
  if (read_only_) hand_over();
  if (transfer_ && core_->transfer_target().empty()) finish_transfer(false);
  if (core_->apply_index() > applied_ && !apply_scheduled_ && under_way_ == 0) apply();
  if (stopped_) return;
  reads_.answer(applied_);
  news_.publish(*core_, applied_);
  arm_timer();
  if (proposals_.is_due()) drain();
  if (retiring_ && core_->transfer_target().empty())
    stop({Errc::no_leader, "the server is stopping"}, false);
}

void NodeState::drain() {
  if (!proposals_.holds_back(core_->configuration().voter_count())) propose(parts_.queue->take());
}

void NodeState::propose(std::vector<Proposal> proposals) {
  parts_.counters->proposals += proposals.size();
  ProposeCommands commands;
  std::vector<PendingEntry> entries;
  PendingProposals::Entering entering;
  for (auto& proposal : proposals) {
    const auto allowed
        = read_only_ ? Result<>{*read_only_} : proposals_.check(proposal.payload, entering, *core_);
    if (!allowed) {
      proposal.callback(allowed.error());
      continue;
    }
    const auto bytes = proposal.payload.size();
    entering = {entering.count + 1, entering.bytes + bytes};
    commands.payloads.push_back(std::move(proposal.payload));
    entries.push_back({std::move(proposal.callback), bytes});
  }
  if (!entries.empty()) enter(std::move(commands), std::move(entries));
}

void NodeState::change_member(const MemberChange& change, ProposalCallback callback) {
  propose_one(ProposeChange{change}, std::move(callback));
}

void NodeState::propose_one(Input input, ProposalCallback callback) {
  if (read_only_) return callback(*read_only_);
  enter(std::move(input), {{std::move(callback), 0}});
}

void NodeState::enter(Input input, std::vector<PendingEntry> entries) {
  tick_if_due();
  auto out = core_->step(parts_.clock(), std::move(input));
  auto index = out.proposed->value_or(0);
  for (auto& [callback, bytes] : entries) {
    if (*out.proposed)
      proposals_.await(index++, bytes, std::move(callback));
    else
      callback(out.proposed->error());
  }
  carry_out(std::move(out));
  after_step();
}

void NodeState::read_index(actor::Promise<ReadReady> promise) {
  step(RequestRead{reads_.add(std::move(promise))});
}

void NodeState::transfer(const ServerId& target, actor::Promise<Transferred> promise) {
  auto out = core_->step(parts_.clock(), TransferTo{target});
  if (!*out.proposed)
    actor::answer(promise, Result<Transferred>{out.proposed->error()});
  else
    transfer_ = std::move(promise);
  carry_out(std::move(out));
  after_step();
}

void NodeState::continue_apply() {
  apply_scheduled_ = false;
  after_step();
}

void NodeState::apply() {
  const auto target = core_->apply_index();
  if (stopped_ || target <= applied_) return;
  const auto first = applied_ + 1;
  const auto last = std::min(target, applied_ + apply_entries);
  const auto& log = core_->log();
  if (first >= log.cached_from()) return apply(log.entries(first, last, apply_bytes));
  at_applier(applier::Read{first, std::min(last, log.cached_from() - 1), apply_bytes},
             [this](applier::Entries& read) {
               // A snapshot may be on its way to the Fsm since: what was read is in front of it.
               if (under_way_ == 0) apply(std::move(read.all));
             });
}

void NodeState::apply(std::vector<Entry> entries) {
  if (entries.empty() || entries.front().index != applied_ + 1) return;
  const auto through = entries.back().index;
  std::vector<Entry> commands;
  commands.reserve(entries.size());
  for (const auto& entry : entries)
    if (entry.kind == EntryKind::command) commands.push_back(entry);
  if (parts_.fsm->takes_long(commands)) {
    at_applier(applier::Apply{std::move(commands), through},
               [this, entries = std::move(entries)](applier::Outcomes& outcomes) {
                 applied(entries, std::move(outcomes.all));
                 if (!stopped_) at_applier(applier::Answered{}, [this](applier::Done) { go_on(); });
               });
    return;
  }
  applied(entries, apply_to(*parts_.fsm, commands, through));
  if (stopped_) return;
  parts_.fsm->answered();
  go_on();
}

/// The Fsm is the applier's until it has answered; nothing else is applied.
template <class Message, class Done>
void NodeState::at_applier(Message message, Done done) {
  ++under_way_;
  self_->request(applier_, longest_turn, std::move(message))
      .then(
          [this, done = std::move(done)](auto& answer) mutable {
            --under_way_;
            if (stopped_) return;
            done(answer);
            after_step();
          },
          [this](const Error& err) { stop(err, true); });
}

void NodeState::applied(const std::vector<Entry>& entries, std::vector<Outcome> outcomes) {
  const auto commands = std::ranges::count(entries, EntryKind::command, &Entry::kind);
  if (outcomes.size() != static_cast<std::size_t>(commands))
    return stop({Errc::internal, "the state machine lost an outcome"}, true);
  applied_ = entries.back().index;
  parts_.counters->applied += entries.size();
  carry_out(core_->step(parts_.clock(), AppliedUpTo{applied_}));
  // Ready before the first answer: whoever reads after its write finds the lease in place.
  news_.publish_lease(*core_, applied_);
  proposals_.answer(entries, std::move(outcomes));
}

/// What is applied is answered: the rest gets its turn behind the messages that wait.
void NodeState::go_on() {
  snapshots_.take_if_due();
  if (stopped_ || under_way_ > 0 || core_->apply_index() <= applied_) return;
  apply_scheduled_ = true;
  self_->send(NodeSelf{self_}, ContinueApply{});
}

void NodeState::lose_leadership() {
  news_.end_lease();
  proposals_.fail({Errc::unavailable, "leadership lost while committing log"});
  // Who stands for the next term itself has waited in vain for a successor.
  finish_transfer(core_->role() != Role::candidate);
}

void NodeState::finish_transfer(bool moved) {
  if (!transfer_) return;
  auto promise = std::move(*transfer_);
  transfer_.reset();
  if (moved)
    actor::answer(promise, Result<Transferred>{Transferred{}});
  else
    actor::answer(promise,
                  Result<Transferred>{Error{Errc::timeout, "no server took over the leadership"}});
}

void NodeState::arm_timer() {
  const auto due = core_->next_look(parts_.clock());
  // One that comes too early looks again: deadlines move with every message, and timers cost more.
  if (!due || (timer_at_ && *timer_at_ <= *due)) return;
  timer_at_ = due;
  ++timer_round_;
  const auto wait = std::max(*due - parts_.clock(), Time{0});
  actor::send_self_after(self_, wait, TimeHasCome{timer_round_});
}

void NodeState::on_timer(std::uint64_t round) {
  if (round != timer_round_) return;
  tick_if_due();
  if (round == timer_round_) timer_at_.reset();  // too early by the node's clock
  after_step();
}

void NodeState::on_room(const std::optional<Error>& lacking) {
  read_only_.reset();
  if (lacking) {
    read_only_ = Error{Errc::overloaded,
                       fmt::format("server \"{}\" is read-only: no space left on its disk ({}); it "
                                   "takes writes again when {} MiB are free",
                                   parts_.options.self, lacking->what, free_mib_to_go_on)};
    log::error("raft", fmt::format("ALARM: {}", read_only_->what));
  } else {
    log::info("raft", "the disk has room again: writes are taken");
  }
  parts_.leader->set_read_only(read_only_ ? read_only_->what : "");
  after_step();
}

/// Another leader may have room. Tried again after a while, for all may be in the same need.
void NodeState::hand_over() {
  const auto now = parts_.clock();
  if (core_->role() != Role::leader || core_->configuration().voter_count() < 2
      || !core_->transfer_target().empty() || now < may_hand_over_)
    return;
  may_hand_over_ = now + hand_over_pause;
  auto out = core_->step(now, TransferTo{});
  if (!*out.proposed)
    log::warn("raft", "cannot transfer the leadership", {{"error", out.proposed->error()}});
  carry_out(std::move(out));
}

void NodeState::stop(const Error& reason, bool is_failure) {
  if (std::exchange(stopped_, true)) return;
  release(reason);
  if (is_failure) {
    log::error("raft", "stopping", {{"error", reason}});
    self_->quit(reason);
  } else {
    self_->quit();
  }
}

void NodeState::release(const Error& reason) {
  news_.stop();
  for (auto& proposal : parts_.queue->close(reason))
    proposal.callback(reason);
  proposals_.fail(reason);
  reads_.fail(reason);
  finish_transfer(true);
  peers_.stop();
  snapshots_.stop(reason);
  actor::stop(writer_);
  actor::stop(applier_);
}

void NodeState::receive(Incoming incoming) {
  if (peers_.heard(incoming, core_->configuration())) step(Received{std::move(incoming.message)});
}

void NodeState::bootstrap(const Configuration& configuration, ProposalCallback callback) {
  propose_one(Bootstrap{configuration}, std::move(callback));
}

void NodeState::retire() {
  const Error stopping{Errc::no_leader, "the server is stopping"};
  if (stopped_ || std::exchange(retiring_, true)) return;
  const bool others = core_->configuration().voter_count() > 1;
  if (core_->role() != Role::leader || !others || !parts_.options.carrier)
    return stop(stopping, false);
  if (core_->transfer_target().empty()) {
    auto out = core_->step(parts_.clock(), TransferTo{});
    if (!*out.proposed) return stop(stopping, false);
    carry_out(std::move(out));
  }
  after_step();
}

RaftStatus NodeState::status() const {
  const auto now = parts_.clock();
  RaftStatus status{.role = core_->role(),
                    .current_term = core_->current_term(),
                    .self = parts_.options.self,
                    .leader = core_->leader(),
                    .leader_address = {},
                    .commit_index = core_->commit_index(),
                    .applied_index = applied_,
                    .last_index = core_->log().last_index(),
                    .snapshot_index = snapshots_.index(),
                    .last_term = core_->log().last_term(),
                    .configuration = core_->configuration(),
                    .configuration_index = core_->configuration_index(),
                    .peers = {},
                    .last_contact = core_->last_contact(now)};
  if (const auto* member = status.configuration.find(status.leader))
    status.leader_address = member->address;
  for (const auto& member : status.configuration.members) {
    const auto* progress = core_->progress(member.id);
    if (progress == nullptr) continue;
    PeerStatus peer{
        .id = member.id, .match_index = progress->match_index, .silence = now - progress->heard};
    if (const auto* counters = peers_.counters(member.id)) {
      peer.reachable = counters->reachable;
      peer.messages_sent = counters->sent;
      peer.messages_lost = counters->lost;
    }
    status.peers.push_back(std::move(peer));
  }
  return status;
}

void NodeState::fetch_log(const LogFetch& fetch) {
  const auto fetched = [this, fetch](std::vector<Entry> entries) {
    step(LogFetched{.peer = fetch.peer, .first = fetch.first, .entries = std::move(entries)});
  };
  self_->request(applier_, longest_turn, applier::Read{fetch.first, fetch.last, fetch.max_bytes})
      .then([fetched](applier::Entries& read) { fetched(std::move(read.all)); },
            [this, fetched](const Error& err) {
              if (err.code != Errc::not_found) return stop(err, true);
              fetched({});
            });
}

void NodeState::install(const SnapshotMeta& meta, const snapshotter::Arrived& arrived) {
  at_applier(applier::Install{arrived.state, meta.index},
             [this, meta, bytes = arrived.bytes](applier::Done) {
               applied_ = meta.index;
               snapshots_.installed(meta.index);
               proposals_.note_members(meta.configuration);
               log::info("raft", "installed the leader's snapshot", {{"index", meta.index}});
               step(SnapshotInstalled{.meta = meta, .bytes = bytes, .ok = true});
               if (!stopped_) snapshots_.take_if_due();
             });
}

/// A callback that answers `promise`.
ProposalCallback answering(actor::Promise<Applied> promise) {
  return [promise](Result<Applied> outcome) mutable { actor::answer(promise, std::move(outcome)); };
}

NodeSelf::behavior_type raft_node(NodeSelf::stateful_pointer<NodeState> self,
                                  std::shared_ptr<NodeParts> parts,
                                  bool detached) {
  self->state.start(std::move(*parts), detached);
  return {
      [self](Propose& msg) -> actor::Answer<Applied> {
        auto promise = self->make_response_promise<Applied>();
        std::vector<Proposal> proposals;
        proposals.push_back({std::move(msg.payload), answering(promise)});
        self->state.propose(std::move(proposals));
        return promise;
      },
      [self](const ReadIndex&) -> actor::Answer<ReadReady> {
        auto promise = self->make_response_promise<ReadReady>();
        self->state.read_index(promise);
        return promise;
      },
      [self](const GetStatus&) -> RaftStatus { return self->state.status(); },
      [self](const TakeSnapshot&) -> actor::Answer<SnapshotTaken> {
        auto promise = self->make_response_promise<SnapshotTaken>();
        self->state.take_snapshot(promise);
        return promise;
      },
      [self](const ChangeMember& msg) -> actor::Answer<Applied> {
        auto promise = self->make_response_promise<Applied>();
        self->state.change_member(msg.change, answering(promise));
        return promise;
      },
      [self](const TransferLeadership& msg) -> actor::Answer<Transferred> {
        auto promise = self->make_response_promise<Transferred>();
        self->state.transfer(msg.target, promise);
        return promise;
      },
      [self](const BootstrapCluster& msg) -> actor::Answer<Applied> {
        auto promise = self->make_response_promise<Applied>();
        self->state.bootstrap(msg.configuration, answering(promise));
        return promise;
      },
      [self](Incoming& msg) { self->state.receive(std::move(msg)); },
      [self](const PeerUnreachable& msg) { self->state.step(Unreachable{msg.peer}); },
      [self](DrainProposals) { self->state.drain(); },
      [self](TimeHasCome msg) { self->state.on_timer(msg.round); },
      [self](ContinueApply) { self->state.continue_apply(); },
      [self](log_writer::Written msg) { self->state.step(Persisted{msg.seq}); },
      [self](const log_writer::WriteFailed& msg) { self->state.stop(msg.reason, true); },
      [self](const log_writer::RoomChanged& msg) { self->state.on_room(msg.lacking); },
  };
}

}  // namespace

RaftNode spawn_raft_node(const actor::Owner& owner, NodeParts parts, bool detached) {
  auto shared = std::make_shared<NodeParts>(std::move(parts));
  if (detached)
    return actor::spawn_detached<actor::Policy::end_owner>(owner, raft_node, std::move(shared),
                                                           true);
  return actor::spawn<actor::Policy::end_owner>(owner, raft_node, std::move(shared), false);
}

}  // namespace nomad::raft
