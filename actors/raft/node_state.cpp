#include "actors/raft/node_state.hpp"

#include <algorithm>

#include "actors/core/supervise.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"

namespace nomad::raft {
namespace {

/// What is applied before other messages get their turn.
constexpr std::size_t apply_entries = 4'096;
constexpr std::size_t apply_bytes = std::size_t{8} << 20;

}  // namespace

NodeState::~NodeState() {
  // Ended without `stop` (killed, or by a bug): nobody may wait for ever.
  if (self_ != nullptr && !stopped_) release({Errc::unavailable, "the raft node has ended"});
}

void NodeState::start(Self self, NodeParts parts) {
  self_ = self;
  parts_ = std::move(parts);
  applied_ = parts_.applied;
  if (parts_.start.snapshot) snapshot_index_ = parts_.start.snapshot->index;
  const auto now = parts_.clock();
  snapshot_since_ = now;
  chance_ = Random{~parts_.seed};
  draw_snapshot_delay();
  core_.emplace(parts_.core_options, std::move(parts_.start), Random{parts_.seed}, now);
  writer_ = parts_.spawn_log_writer(self->system(), NodeSelf{self});
  snapshotter_ = parts_.spawn_snapshotter(self->system());
  self->monitor(writer_);
  self->monitor(snapshotter_);
  actor::on_down(self, [this](const actor::Down& down) {
    if (!down.crashed && down.source != writer_.address() && down.source != snapshotter_.address())
      return;  // a peer that was not needed any more
    stop({Errc::internal, "an actor of the log has ended: " + down.reason.what}, true);
  });
  actor::on_exit(self, [this] { retire(); });
  const NodeSelf handle{self};
  parts_.queue->set_wake([handle] { actor::tell(handle, DrainProposals{}); });
  announce();
  step(Tick{});
}

void NodeState::step(Input input) {
  if (stopped_) return;
  carry_out(core_->step(parts_.clock(), std::move(input)));
  after_step();
}

void NodeState::carry_out(Outputs out) {
  for (const auto& notice : out.notices)
    log::info("raft", "{}", notice);
  if (out.fatal) return stop(*out.fatal, true);
  if (out.write) self_->send(writer_, log_writer::Write{out.write_seq, std::move(*out.write)});
  if (out.truncate_through > 0)
    self_->send(writer_, log_writer::TruncatePrefix{out.truncate_through});
  if (!out.messages.empty()) post(std::move(out.messages));
  for (const auto& read : out.reads) {
    auto asked = asked_reads_.extract(read.id);
    if (!asked.empty()) granted_reads_.push_back({read.index, std::move(asked.mapped())});
  }
  for (const auto id : out.refused_reads) {
    auto asked = asked_reads_.extract(id);
    if (!asked.empty())
      actor::answer(asked.mapped(),
                    Result<ReadReady>{Error{Errc::unavailable, "node is not the leader"}});
  }
  for (const auto& fetch : out.log_fetches)
    fetch_log(fetch);
  carry_out_snapshots(out);
}

void NodeState::after_step() {
  if (stopped_) return;
  if (announced_role_ == Role::leader && core_->role() != Role::leader) lose_leadership();
  if (announced_role_ != core_->role() && core_->role() == Role::leader)
    ++parts_.counters->elections;
  announced_role_ = core_->role();
  if (transfer_ && core_->transfer_target().empty()) finish_transfer(false);
  if (core_->apply_index() > applied_ && !apply_scheduled_) apply();
  if (stopped_) return;
  answer_reads();
  publish_lease();
  announce();
  arm_timer();
  if (gathering_.is_due()) drain();
  if (retiring_ && core_->transfer_target().empty())
    stop({Errc::unavailable, "the server is stopping"}, false);
}

void NodeState::drain() {
  if (!gathering_.holds_back()) propose(parts_.queue->take());
}

/// `callback` is answered when the entry is applied, or lost with the leadership.
void NodeState::await(Index index, ProposalCallback callback) {
  gathering_.begin(parts_.clock());
  proposals_.push_back({index, std::move(callback)});
}

void NodeState::fail_proposals(const Error& reason) {
  gathering_.abandon();
  for (auto& proposal : std::exchange(proposals_, {}))
    proposal.callback(reason);
}

void NodeState::propose(std::vector<Proposal> proposals) {
  parts_.counters->proposals += proposals.size();
  ProposeCommands commands;
  std::vector<ProposalCallback> callbacks;
  for (auto& proposal : proposals) {
    if (proposal.payload.size() > parts_.options.max_entry_bytes) {
      proposal.callback(Error{Errc::too_large,
                              fmt::format("a write of {} bytes exceeds {}", proposal.payload.size(),
                                          parts_.options.max_entry_bytes)});
    } else if (proposals_.size() + callbacks.size() >= parts_.options.max_waiting_entries) {
      proposal.callback(Error{Errc::overloaded, "too many writes are waiting for the log"});
    } else {
      commands.payloads.push_back(std::move(proposal.payload));
      callbacks.push_back(std::move(proposal.callback));
    }
  }
  if (callbacks.empty()) return;
  auto out = core_->step(parts_.clock(), std::move(commands));
  if (!*out.proposed) {
    for (const auto& callback : callbacks)
      callback(out.proposed->error());
  } else {
    auto index = **out.proposed;
    for (auto& callback : callbacks)
      await(index++, std::move(callback));
  }
  carry_out(std::move(out));
  after_step();
}

void NodeState::change_member(const MemberChange& change, ProposalCallback callback) {
  auto out = core_->step(parts_.clock(), ProposeChange{change});
  if (!*out.proposed)
    callback(out.proposed->error());
  else
    await(**out.proposed, std::move(callback));
  carry_out(std::move(out));
  after_step();
}

void NodeState::read_index(actor::Promise<ReadReady> promise) {
  const auto id = next_read_++;
  asked_reads_.emplace(id, std::move(promise));
  step(RequestRead{id});
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
  auto entries = entries_to_apply(applied_ + 1, target);
  if (!entries) return stop(entries.error(), true);
  const auto through = entries->back().index;
  std::vector<Entry> commands;
  commands.reserve(entries->size());
  for (const auto& entry : *entries)
    if (entry.kind == EntryKind::command) commands.push_back(entry);
  NOMAD_FAILPOINT("raft.before_apply");
  auto outcomes = parts_.fsm->apply(commands, through);
  NOMAD_FAILPOINT("raft.after_apply");
  if (outcomes.size() != commands.size())
    return stop({Errc::internal, "the state machine lost an outcome"}, true);
  applied_ = through;
  parts_.counters->applied += entries->size();
  carry_out(core_->step(parts_.clock(), AppliedUpTo{through}));
  // Ready before the first answer: whoever reads after its write finds the lease in place.
  publish_lease();
  answer_applied(std::move(outcomes), *entries);
  snapshot_if_due();
  if (!stopped_ && core_->apply_index() > applied_) {
    apply_scheduled_ = true;
    self_->send(NodeSelf{self_}, ContinueApply{});
  }
}

Result<std::vector<Entry>> NodeState::entries_to_apply(Index first, Index last) {
  last = std::min(last, first + apply_entries - 1);
  const auto& log = core_->log();
  if (first >= log.cached_from()) return log.entries(first, last, apply_bytes);
  return parts_.read_log(first, std::min(last, log.cached_from() - 1), apply_bytes);
}

/// Every entry of the portion is applied; the proposals among them get their outcome.
void NodeState::answer_applied(std::vector<Outcome> outcomes, const std::vector<Entry>& entries) {
  std::size_t command = 0;
  for (const auto& entry : entries) {
    Outcome outcome;
    if (entry.kind == EntryKind::command) outcome = std::move(outcomes[command++]);
    if (proposals_.empty() || proposals_.front().index != entry.index) continue;
    const auto callback = std::move(proposals_.front().callback);
    proposals_.pop_front();
    outcome.index = entry.index;
    callback(Applied{entry.index, std::move(outcome)});
    if (proposals_.empty()) gathering_.end(parts_.clock());
  }
}

void NodeState::answer_reads() {
  while (!granted_reads_.empty() && granted_reads_.front().index <= applied_) {
    auto read = std::move(granted_reads_.front());
    granted_reads_.pop_front();
    actor::answer(read.promise, Result<ReadReady>{ReadReady{applied_}});
  }
}

void NodeState::lose_leadership() {
  parts_.lease->set(0);
  fail_proposals({Errc::unavailable, "leadership lost while committing log"});
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

void NodeState::publish_lease() {
  const bool caught_up = core_->barrier_index() != 0 && applied_ >= core_->barrier_index();
  parts_.lease->set(caught_up ? core_->lease_until().count() : 0);
}

void NodeState::announce() {
  LeadershipChanged now{.leads = core_->role() == Role::leader,
                        .ready = false,
                        .term = core_->current_term(),
                        .leader = core_->leader(),
                        .leader_address = {}};
  now.ready = now.leads && applied_ >= core_->barrier_index();
  if (const auto* member = core_->configuration().find(now.leader))
    now.leader_address = member->address;
  parts_.leader->set_contact(now.leads
                                 ? LeaderView::leading
                                 : (parts_.clock() - core_->last_contact(parts_.clock())).count());
  const bool same = has_announced_ && now.leads == announced_.leads && now.ready == announced_.ready
                    && now.leader == announced_.leader
                    && now.leader_address == announced_.leader_address
                    && (!now.leads || now.term == announced_.term);
  if (same) return;
  has_announced_ = true;
  announced_ = now;
  parts_.leader->set({.leads = now.leads,
                      .ready = now.ready,
                      .term = now.term,
                      .leader = now.leader,
                      .leader_address = now.leader_address});
  if (parts_.listener) self_->send(parts_.listener, std::move(now));
}

void NodeState::arm_timer() {
  const auto due = core_->next_deadline();
  // One that comes too early looks again: deadlines move with every message, and timers cost more.
  if (!due || (timer_at_ && *timer_at_ <= *due)) return;
  timer_at_ = due;
  ++timer_round_;
  const auto wait = std::max(*due - parts_.clock(), Time{0});
  actor::send_self_after(self_, wait, TimeHasCome{timer_round_});
}

void NodeState::on_timer(std::uint64_t round) {
  if (round != timer_round_) return;
  timer_at_.reset();
  step(Tick{});
}

void NodeState::stop(const Error& reason, bool is_failure) {
  if (std::exchange(stopped_, true)) return;
  release(reason);
  if (is_failure) {
    log::error("raft", "stopping: {}", reason.what);
    self_->quit(reason);
  } else {
    self_->quit();
  }
}

void NodeState::release(const Error& reason) {
  parts_.lease->set(0);
  for (auto& proposal : parts_.queue->close(reason))
    proposal.callback(reason);
  fail_proposals(reason);
  for (auto& [id, promise] : std::exchange(asked_reads_, {}))
    actor::answer(promise, Result<ReadReady>{reason});
  for (auto& read : std::exchange(granted_reads_, {}))
    actor::answer(read.promise, Result<ReadReady>{reason});
  for (auto& asker : std::exchange(snapshot_askers_, {}))
    actor::answer(asker.promise, Result<SnapshotTaken>{reason});
  finish_transfer(true);
  parts_.leader->set({});
  for (const auto& [id, peer] : peers_)
    actor::stop(peer.actor);
  peers_.clear();
  actor::stop(writer_);
  actor::stop(snapshotter_);
}

}  // namespace nomad::raft
