// NodeStepsFixture: a Raft node step by step, on a disk that the test plays.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "actors/raft/node_parts.hpp"
#include "actors/raft/raft_node.hpp"
#include "test/support/actor_fixture.hpp"
#include "test/support/list_fsm.hpp"

namespace nomad::test {

using namespace nomad::raft;

/// The snapshot that was asked for as the `number`th, and held, is on the disk.
struct EndSnapshot {
  using is_message = void;
  std::size_t number = 0;
};

using Files = actor::WithInternal<Snapshotter, void(EndSnapshot)>;

struct NodeStepsFixture : test::ActorFixture {
  Recorder<log_writer::Write> writes = record<log_writer::Write>();
  Recorder<LeadershipChanged> leadership = record<LeadershipChanged>();
  std::shared_ptr<test::ListFsm> fsm = std::make_shared<test::ListFsm>();
  std::shared_ptr<ProposalQueue> queue = std::make_shared<ProposalQueue>(1'000, 1'000'000);
  std::shared_ptr<LeaderLease> lease = std::make_shared<LeaderLease>();
  std::shared_ptr<RaftCounters> counters = std::make_shared<RaftCounters>();
  std::shared_ptr<LeaderView> view = std::make_shared<LeaderView>();
  LogWriterListener disk;  ///< Where the disk reports to.
  Result<snapshotter::Saved> saved = snapshotter::Saved{.path = "snapshot.db", .bytes = 10};
  std::vector<SnapshotMeta> snapshots;
  bool hold_snapshots = false;  ///< Those asked for are being written until they end in `held`.
  std::vector<actor::Promise<snapshotter::Saved>> held;
  Files files;  ///< The snapshotter.
  /// Learner "d" has nothing, and the log begins behind a snapshot at `snapshot_at`.
  bool with_learner = false;
  static constexpr Index snapshot_at = 10;
  std::vector<snapshotter::ReadPart> reads;
  Result<snapshotter::Part> part = snapshotter::Part{Bytes::copy("data")};
  std::vector<std::string> logged;  ///< Commands behind that snapshot, on the disk alone.
  ReadLog read_log;
  std::shared_ptr<PreparedState> arriving;  ///< Of the next snapshot from another server.
  std::vector<Index> cuts;                  ///< Of the log, up to here.
  RaftOptions options{.self = "a"};
  RaftNode node;

  Configuration members() const {
    Configuration all{
        .cluster_id = "c", .members = {{.id = "a", .address = {}, .voter = true}}, .removed = {}};
    if (with_learner) all.members.push_back({.id = "d", .address = {}, .voter = false});
    return all;
  }

  void start() {
    NodeParts parts;
    parts.options = options;
    parts.core_options.self = "a";
    parts.core_options.promote_lag = 2;
    parts.start.hard_state = {.current_term = 1, .voted_for = {}};
    if (with_learner) {
      parts.start.snapshot = SnapshotMeta{
          .index = snapshot_at, .term = 1, .configuration = members(), .configuration_index = 1};
      parts.start.snapshot_bytes = 10;
      parts.start.log = LogView{snapshot_at, 1, logged.empty() ? LogView::default_cache_bytes : 0};
      for (const auto& command : logged)
        parts.start.log.append(command_at(parts.start.log.last_index() + 1, command));
      parts.start.log.release(parts.start.log.last_index());
      parts.start.configs = ConfigHistory{{1, members()}};
      parts.applied = snapshot_at;
    } else {
      parts.start.log.append(
          {.index = 1, .term = 1, .kind = EntryKind::configuration, .payload = encode(members())});
      parts.start.configs.append(1, members());
    }
    parts.fsm = fsm;
    parts.read_log = read_log;
    parts.queue = queue;
    parts.lease = lease;
    parts.counters = counters;
    parts.leader = view;
    parts.listener = leadership.handle;
    parts.clock = [this] { return Time{now().time_since_epoch()}; };
    parts.spawn_log_writer = [this](const actor::Owner&, LogWriterListener listener) {
      disk = std::move(listener);
      auto seen = writes.seen;
      return adopt(
          actor::spawn(system(), [this, seen](LogWriter::pointer) -> LogWriter::behavior_type {
            return {[seen](const log_writer::Write& msg) { seen->push_back(msg); },
                    [this](const log_writer::TruncatePrefix& msg) { cuts.push_back(msg.through); }};
          }));
    };
    parts.spawn_snapshotter = [this](const actor::Owner&) {
      return adopt(actor::spawn(system(), [this](Files::pointer self) -> Files::behavior_type {
        files = Files{self};
        return {[this,
                 self](const snapshotter::SaveSnapshot& msg) -> actor::Answer<snapshotter::Saved> {
                  snapshots.push_back(msg.meta);
                  if (!hold_snapshots) return actor::answer(saved);
                  held.push_back(self->make_response_promise<snapshotter::Saved>());
                  return held.back();
                },
                [this](const snapshotter::ReadPart& msg) {
                  reads.push_back(msg);
                  return actor::answer(part);
                },
                [](const snapshotter::StorePart& msg) {
                  return snapshotter::Stored{msg.offset + msg.data.size()};
                },
                [this](const snapshotter::FinishArrived&) {
                  return snapshotter::Arrived{.bytes = 4, .state = arriving};
                },
                [this](EndSnapshot msg) { actor::answer(held[msg.number], saved); }};
      }));
    };
    node = adopt(spawn_raft_node(system(), std::move(parts), false));
    settle();
  }

  static Entry command_at(Index index, std::string_view text) {
    return {.index = index, .term = 1, .kind = EntryKind::command, .payload = Bytes::copy(text)};
  }

  /// `logged` is read.
  void read_what_is_logged() {
    read_log = [this](Index first, Index last, std::size_t) -> Result<std::vector<Entry>> {
      std::vector<Entry> entries;
      for (auto index = first; index <= last; ++index)
        entries.push_back(command_at(index, logged.at(index - snapshot_at - 1)));
      return entries;
    };
  }

  /// Everything written so far is durable.
  void persist() { tell(disk, log_writer::Written{writes.seen->back().seq}); }

  void lead() {
    start();
    persist();
    persist();
  }

  void write(int count) {
    for (int number = 0; number < count; ++number)
      Proposer{queue}.propose(Bytes::copy("x"), [](Result<Applied>) {});
    settle();
    persist();
  }

  void from_learner(Body body, std::uint32_t known_commands = 0, Term term = 2) {
    Incoming incoming;
    incoming.message = {.cluster_id = "c",
                        .from = "d",
                        .to = "a",
                        .term = term,
                        .body = std::move(body),
                        .known_commands = known_commands};
    tell(node, std::move(incoming));
  }
};

}  // namespace nomad::test
