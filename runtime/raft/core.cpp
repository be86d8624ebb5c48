#include "runtime/raft/core.hpp"

#include <algorithm>

#include "runtime/raft/invariant.hpp"

namespace nomad::raft {
namespace {

/// A leader whose disk answers nothing for so many times its patience steps down.
constexpr int stuck_disk_timeouts = 5;

bool comes_from_leader(const Message& message) {
  return std::holds_alternative<Heartbeat>(message.body)
         || std::holds_alternative<AppendRequest>(message.body)
         || std::holds_alternative<SnapshotChunk>(message.body);
}

/// Whether the entries continue `prev` without a hole, with terms that never fall.
bool are_consecutive(const AppendRequest& request, Term term) {
  auto index = request.prev_index;
  auto last_term = request.prev_term;
  for (const auto& entry : request.entries) {
    if (entry.index != index + 1 || entry.term < last_term || entry.term > term) return false;
    index = entry.index;
    last_term = entry.term;
  }
  return true;
}

}  // namespace

Core::Core(CoreOptions options, StartState start, Random random, Time now)
    : options_(std::move(options)),
      random_(random),
      now_(now),
      hard_state_(std::move(start.hard_state)),
      log_(std::move(start.log)),
      configs_(std::move(start.configs)),
      snapshot_(std::move(start.snapshot)),
      snapshot_bytes_(start.snapshot_bytes),
      leader_contact_(now),
      patience_(options_.election_timeout),
      durable_index_(log_.last_index()) {
  if (snapshot_) commit_index_ = applied_index_ = snapshot_->index;
  require(log_.base_index() <= commit_index_ && log_.last_index() >= commit_index_,
          "the log begins at or before the snapshot and reaches it");
  reset_election_deadline();
  if (leads_alone()) election_deadline_ = now;
}

Outputs Core::step(Time now, Input input) {
  require(now >= now_, "time does not go back");
  now_ = now;
  out_ = {};
  std::visit([this](auto& value) { on(value); }, input);
  finish();
  return std::exchange(out_, {});
}

std::optional<Time> Core::next_deadline() const {
  if (role_ == Role::leader) {
    if (configuration().members.size() <= 1) return std::nullopt;
    return heartbeat_deadline_;
  }
  if (!is_promotable()) return std::nullopt;
  return election_deadline_;
}

std::optional<Time> Core::next_look(Time now) const {
  const auto due = next_deadline();
  if (!due) return due;
  return std::min(*due, now + options_.heartbeat_interval);
}

Index Core::apply_index() const {
  return std::min(commit_index_, durable_index_);
}

Time Core::last_contact(Time now) const {
  return role_ == Role::leader ? Time{0} : now - leader_contact_;
}

SnapshotMeta Core::snapshot_meta(Index index) const {
  const auto term = log_.term_at(index);
  require(term.has_value() && index <= apply_index(), "a snapshot stands for applied entries");
  const auto& version = configs_.at(index);
  return {.index = index,
          .term = *term,
          .configuration = version.configuration,
          .configuration_index = version.index};
}

const Progress* Core::progress(const ServerId& peer) const {
  const auto found = progress_.find(peer);
  return found == progress_.end() ? nullptr : &found->second;
}

/// (7) Messages that have come meanwhile are still to be taken in: time for that, too, is given,
/// once until the leader is heard.
void Core::note_stall(Time late) {
  if (late <= options_.heartbeat_interval / 2) return;  // timers are never quite in time
  ++stalls_;
  stalled_ += late;
  const auto credit = std::min(late, std::max(patience_.bound() - put_off_, Time{0}));
  put_off_ += credit;
  if (role_ == Role::leader) return;
  election_deadline_ += credit;
  if (!std::exchange(has_stalled_, true))
    election_deadline_
        = std::max(election_deadline_, now_ + std::min(late, options_.election_timeout));
}

void Core::on(Tick input) {
  note_stall(input.late);
  if (role_ != Role::leader) {
    if (!is_promotable() || now_ < election_deadline_) return;
    return campaign(!leads_alone(), false);
  }
  if (configuration().members.size() <= 1) return;
  if (is_disk_stuck()) {
    out_.notices.push_back("stepping down: the disk has not answered for too long");
    return become_follower(current_term(), {});
  }
  if (now_ < heartbeat_deadline_) return;
  check_quorum();
  if (role_ != Role::leader) return;
  if (!transfer_target_.empty() && now_ >= transfer_deadline_) abort_transfer();
  if (role_ != Role::leader) return;
  start_round();
}

/// Of a leader, though those of a quorum are not: where all disks are slow, another leader would
/// have no better one.
bool Core::is_disk_stuck() const {
  if (outstanding_.empty() || configuration().voter_count() <= 1) return false;
  const auto& oldest = outstanding_.front();
  return now_ - oldest.since > stuck_disk_timeouts * patience()
         && oldest.last_index <= commit_index_;
}

void Core::on(Received& input) {
  auto& message = input.message;
  if (!is_acceptable(message)) return;
  if (const auto member = progress_.find(message.from); member != progress_.end())
    member->second.known_commands = message.known_commands;
  if (const auto* request = std::get_if<VoteRequest>(&message.body))
    return receive(message, *request);
  if (const auto* reply = std::get_if<VoteReply>(&message.body)) return receive(message, *reply);
  if (!pass_term(message)) return;
  std::visit([this, &message](auto& body) { receive(message, body); }, message.body);
}

/// Members that have no log yet vote for the server that founds the cluster. Later such a vote
/// comes from a server that has lost its disk, and with it the votes that it gave: it does not
/// count.
bool Core::is_founding_vote(const Message& message) const {
  return message.cluster_id.empty() && std::holds_alternative<VoteReply>(message.body)
         && log_.last_index() == 1 && configuration().find(message.from) != nullptr;
}

bool Core::is_acceptable(const Message& message) {
  if (message.protocol != protocol_version || message.to != options_.self
      || message.from == options_.self || message.from.empty())
    return false;
  const auto& own = cluster_id();
  if (!own.empty() && message.cluster_id != own && !is_founding_vote(message)) {
    out_.notices.push_back("dropped a message of server \"" + message.from
                           + "\", which belongs to another cluster");
    return false;
  }
  const auto* append = std::get_if<AppendRequest>(&message.body);
  if (append == nullptr || are_consecutive(*append, message.term)) return true;
  out_.notices.push_back("dropped malformed entries of server \"" + message.from + "\"");
  return false;
}

/// Whether a message belongs to this term, after newer terms were joined and old senders told.
bool Core::pass_term(const Message& message) {
  const bool of_leader = comes_from_leader(message);
  if (message.term > current_term()) {
    become_follower(message.term, of_leader ? message.from : ServerId{});
  } else if (message.term < current_term()) {
    // A deposed leader learns the newer term from any answer that carries it.
    if (of_leader) send(message.from, HeartbeatReply{});
    return false;
  }
  if (!of_leader) return true;
  if (role_ == Role::leader) {
    out_.notices.push_back("server \"" + message.from + "\" claims to lead term "
                           + std::to_string(message.term) + ", which this server leads");
    return false;
  }
  if (cluster_id().empty()) joining_cluster_id_ = message.cluster_id;
  hear_leader(message.from);
  return true;
}

void Core::on(Persisted input) {
  require(input.seq <= write_seq_, "only writes that were asked for are reported");
  persisted_seq_ = std::max(persisted_seq_, input.seq);
  while (!outstanding_.empty() && outstanding_.front().seq <= input.seq) {
    durable_index_ = outstanding_.front().last_index;
    outstanding_.pop_front();
  }
  while (!deferred_.empty() && deferred_.front().first <= input.seq) {
    auto message = std::move(deferred_.front().second);
    deferred_.pop_front();
    if (message.term == current_term())  // (2)
      out_.messages.push_back(std::move(message));
  }
  if (role_ == Role::candidate && own_vote_seq_ != 0 && own_vote_seq_ <= input.seq) {
    own_vote_seq_ = 0;
    votes_[options_.self] = true;
    count_votes_now();
  }
  if (role_ == Role::leader) advance_commit();
}

void Core::on(AppliedUpTo input) {
  applied_index_ = std::max(applied_index_, input.index);
  log_.release(std::min(applied_index_, durable_index_));
}

/// Numbers this step's write, and lets go or keeps what depends on it.
void Core::finish() {
  if (!write_.empty()) {
    ++write_seq_;
    outstanding_.push_back({write_seq_, log_.last_index(), now_});
    out_.write = std::exchange(write_, {});
    out_.write_seq = write_seq_;
  }
  if (std::exchange(own_vote_now_, false)) own_vote_seq_ = write_seq_;
  const bool all_durable = persisted_seq_ == write_seq_;
  for (auto& message : deferred_now_) {
    if (all_durable)
      out_.messages.push_back(std::move(message));
    else
      deferred_.emplace_back(write_seq_, std::move(message));
  }
  deferred_now_.clear();
}

Message Core::envelope(const ServerId& to, Term term, Body body) const {
  return {.cluster_id = cluster_id(),
          .from = options_.self,
          .to = to,
          .term = term,
          .body = std::move(body)};
}

void Core::send(const ServerId& to, Body body) {
  out_.messages.push_back(envelope(to, current_term(), std::move(body)));
}

void Core::send_when_durable(const ServerId& to, Term term, Body body) {
  deferred_now_.push_back(envelope(to, term, std::move(body)));
}

void Core::become_follower(Term term, const ServerId& leader) {
  require(term >= current_term(), "the term never falls");
  const bool stepped_down = role_ == Role::leader;
  if (term > current_term()) set_hard_state(term, {});
  role_ = Role::follower;
  leader_ = leader;
  votes_.clear();
  own_vote_seq_ = 0;
  own_vote_now_ = false;
  if (stepped_down) {
    progress_.clear();
    rounds_.clear();
    barrier_index_ = 0;
    transfer_target_.clear();
    refuse_reads();
  }
  reset_election_deadline();
}

void Core::hear_leader(const ServerId& leader) {
  if (role_ != Role::follower) become_follower(current_term(), leader);
  if (std::exchange(contact_term_, current_term()) == current_term())
    patience_.waited(now_, now_ - leader_contact_ - options_.heartbeat_interval - put_off_);
  leader_ = leader;
  leader_contact_ = now_;
  put_off_ = Time{0};
  has_stalled_ = false;
  campaigns_ = 0;
  reset_election_deadline();
}

void Core::set_hard_state(Term term, const ServerId& vote) {
  hard_state_ = {.current_term = term, .voted_for = vote};
  write_.hard_state = hard_state_;
}

void Core::append(Entry entry) {
  if (entry.kind == EntryKind::configuration) {
    auto decoded = decode_configuration(entry.payload.view());
    if (!decoded) {
      out_.fatal = decoded.error().within("log entry " + std::to_string(entry.index));
      return;
    }
    configs_.append(entry.index, std::move(*decoded));
    write_.append.push_back(entry);
    log_.append(std::move(entry));
    return adopt_configuration();
  }
  write_.append.push_back(entry);
  log_.append(std::move(entry));
}

void Core::truncate_from(Index first) {
  require(first > commit_index_, "committed entries never change");
  require(write_.append.empty(), "what a message appends comes after what it truncates");
  log_.truncate_from(first);
  durable_index_ = std::min(durable_index_, first - 1);
  for (auto& write : outstanding_)
    write.last_index = std::min(write.last_index, first - 1);
  write_.truncate_from = first;
  configs_.truncate_from(first);
  adopt_configuration();
}

void Core::set_commit(Index index) {
  require(index <= log_.last_index(), "only what is in the log is committed");
  if (index <= commit_index_) return;
  const bool covers_configuration
      = configs_.latest_index() > commit_index_ && configs_.latest_index() <= index;
  commit_index_ = index;
  if (role_ == Role::leader && covers_configuration) after_commit_of_configuration();
}

const std::string& Core::cluster_id() const {
  const auto& own = configuration().cluster_id;
  return own.empty() ? joining_cluster_id_ : own;
}

bool Core::is_promotable() const {
  return configuration().is_voter(options_.self) && !(arriving_ && arriving_->installing);
}

bool Core::leads_alone() const {
  return configuration().voter_count() == 1 && configuration().is_voter(options_.self);
}

/// Who follows a leader waits by its position among the voters, so that one of them is first: a
/// little after the others, too, have ceased to hope for the leader (`leader_is_fresh`). Who has
/// asked in vain waits at random, the first time shorter.
void Core::reset_election_deadline() {
  const auto base = patience();
  const auto draw = [this](Time below) {
    return Time{
        static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(below.count())))};
  };
  if (campaigns_ > 0) {
    const auto again = std::max(options_.election_timeout, base / 2);
    const auto pause = campaigns_ == 1 ? again / 2 : again;
    election_deadline_ = now_ + pause + draw(pause);
    return;
  }
  int position = 0;
  for (const auto& member : configuration().members) {
    if (member.id == options_.self) break;
    if (member.voter && member.id != leader_) ++position;
  }
  const auto step = options_.election_timeout / 8;
  election_deadline_ = now_ + base + step / 2 + step * std::min(position, 6) + draw(step);
}

}  // namespace nomad::raft
