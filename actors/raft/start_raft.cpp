// start_raft: from a directory to a running node: opens the log, restores the newest snapshot,
// checks that the log continues it, and reads the log once from end to end.
#include <algorithm>
#include <filesystem>

#include "actors/raft/node_parts.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/raft/recovery.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/storage/directory.hpp"
#include "runtime/storage/reserve.hpp"
#include "runtime/storage/snapshot_exchange.hpp"
#include "runtime/storage/snapshot_file.hpp"

namespace nomad::raft {
namespace {

constexpr std::size_t scan_bytes = std::size_t{4} << 20;
constexpr Index scan_entries = 4'096;

std::string log_path(const RaftOptions& options) {
  return options.directory + "/raft.db";
}

/// An operator puts it there who has no better copy of the log. It counts for one start.
std::string accepts_path(const RaftOptions& options) {
  return options.directory + "/accept-log-as-is";
}

std::string snapshot_directory(const RaftOptions& options) {
  return options.directory + "/snapshots";
}

/// The newest snapshot, in `fsm`; nothing when there is none.
Result<> restore_snapshot(const RaftOptions& options, Fsm& fsm, StartState& start) {
  const auto directory = snapshot_directory(options);
  NOMAD_TRY(storage::make_directory(directory));
  NOMAD_TRY(storage::remove_old_snapshots(directory, std::max(options.snapshots_kept, 1U)));
  const auto files = NOMAD_TRY(storage::list_snapshots(directory));
  if (files.empty()) return {};
  const auto& newest = files.front();
  auto reader = NOMAD_TRY(storage::SnapshotReader::open(newest.path));
  const auto bytes = NOMAD_TRY(storage::file_size(newest.path));
  NOMAD_TRY(fsm.restore(*reader, newest.index));
  start.snapshot = reader->meta();
  start.snapshot_bytes = bytes;
  log::info("raft", "restored the snapshot", {{"index", newest.index}});
  return {};
}

/// A crash may fall between an installed snapshot and the reset of the log that it replaces.
Result<> reset_log_behind_snapshot(storage::RaftLog& log, const SnapshotMeta& snapshot) {
  const auto bounds = NOMAD_TRY(log.bounds());
  if (bounds.empty() || bounds.first > snapshot.index) return {};
  bool replaced = bounds.last < snapshot.index;
  if (!replaced) {
    const auto at = NOMAD_TRY(log.read(snapshot.index, snapshot.index, 1));
    replaced = at.front().term != snapshot.term;
  }
  if (!replaced) return {};
  log::warn("raft", "the log ends before the snapshot or differs from it: it starts anew",
            {{"index", snapshot.index}});
  LogWrite write;
  write.reset_to = snapshot.index;
  return log.write(write);
}

/// An entry that will be applied is checked as anything from outside.
Result<> check_entry(const Entry& entry, const Fsm& fsm, const std::string& path) {
  if (entry.kind != EntryKind::command) return {};
  const auto sound = fsm.check(entry.payload.view());
  if (sound) return {};
  return Error{Errc::corrupt,
               fmt::format("\"{}\": log entry {}: {}", path, entry.index, sound.error().what)};
}

Result<> add_entry(Entry entry, const Fsm& fsm, const std::string& path, StartState& start) {
  const Index snapshot_index = start.snapshot ? start.snapshot->index : 0;
  if (entry.index > snapshot_index) NOMAD_TRY(check_entry(entry, fsm, path));
  if (entry.kind == EntryKind::configuration && entry.index > snapshot_index) {
    auto configuration
        = NOMAD_TRY(decode_configuration(entry.payload.view())
                        .within(fmt::format("\"{}\": log entry {}", path, entry.index)));
    start.configs.append(entry.index, std::move(configuration));
  }
  const auto index = entry.index;
  if (entry.term < start.log.last_term())
    return Error{Errc::corrupt, fmt::format("\"{}\": log entry {}: its term is older than that of "
                                            "the entry before",
                                            path, index)};
  start.log.append(std::move(entry));
  start.log.release(index);  // it can be read again
  return {};
}

/// The log's first entry is the base when it is not the one behind the snapshot: its term is the
/// oldest that is known.
Result<> set_base(storage::RaftLog& log, const storage::LogBounds& bounds, StartState& start) {
  const Index index = start.snapshot ? start.snapshot->index : 0;
  const Term term = start.snapshot ? start.snapshot->term : 0;
  if (bounds.empty() || bounds.first == index + 1) {
    start.log = LogView{index, term};
    return {};
  }
  if (bounds.first > index + 1)
    return Error{Errc::corrupt,
                 fmt::format("\"{}\" begins at index {}, but the newest snapshot ends at {}: "
                             "the entries between are missing",
                             log.path(), bounds.first, index)};
  const auto first = NOMAD_TRY(log.read(bounds.first, bounds.first, 1));
  start.log = LogView{bounds.first, first.front().term};
  return {};
}

Result<> scan_log(storage::RaftLog& log, const Fsm& fsm, StartState& start) {
  const auto bounds = NOMAD_TRY(log.bounds());
  NOMAD_TRY(set_base(log, bounds, start));
  while (!bounds.empty() && start.log.last_index() < bounds.last) {
    const auto first = start.log.last_index() + 1;
    auto entries = log.read(first, std::min(bounds.last, first + scan_entries - 1), scan_bytes);
    if (!entries) return Error{Errc::corrupt, entries.error().what};
    for (auto& entry : *entries)
      NOMAD_TRY(add_entry(std::move(entry), fsm, log.path(), start));
  }
  return {};
}

/// A new cluster's first entry: its only voter.
Result<> bootstrap(storage::RaftLog& log, const RaftOptions& options) {
  auto random = Random::from_system();
  const Configuration configuration{
      .cluster_id = make_uuid(random),
      .members = {{.id = options.self, .address = options.address, .voter = true}},
      .removed = {}};
  LogWrite write;
  write.hard_state = HardState{.current_term = 1, .voted_for = {}};
  write.append.push_back(
      {.index = 1, .term = 1, .kind = EntryKind::configuration, .payload = encode(configuration)});
  return log.write(write);
}

Result<StartState> load(storage::RaftLog& log, const RaftOptions& options, Fsm& fsm) {
  StartState start;
  NOMAD_TRY(restore_snapshot(options, fsm, start));
  NOMAD_TRY(log.verify(options.self, start.snapshot ? start.snapshot->index : 0));
  const auto bounds = NOMAD_TRY(log.bounds());
  if (start.snapshot) {
    start.configs
        = ConfigHistory{{start.snapshot->configuration_index, start.snapshot->configuration}};
    NOMAD_TRY(reset_log_behind_snapshot(log, *start.snapshot));
  } else if (bounds.empty() && options.bootstrap) {
    NOMAD_TRY(bootstrap(log, options));
  }
  NOMAD_TRY(scan_log(log, fsm, start));
  start.hard_state = NOMAD_TRY(log.hard_state());
  if (start.hard_state.current_term < start.log.last_term())
    return Error{Errc::corrupt,
                 fmt::format("\"{}\": the stored term {} is older than the log's {}", log.path(),
                             start.hard_state.current_term, start.log.last_term())};
  return start;
}

/// Applies the rest of the log to `fsm`, which holds the snapshot.
Result<> apply_log(storage::RaftLog& log, Fsm& fsm, Index first, Index last) {
  while (first <= last) {
    const auto entries
        = NOMAD_TRY(log.read(first, std::min(last, first + scan_entries - 1), scan_bytes));
    std::vector<Entry> commands;
    for (const auto& entry : entries)
      if (entry.kind == EntryKind::command) commands.push_back(entry);
    fsm.apply(commands, entries.back().index);
    first = entries.back().index + 1;
  }
  return {};
}

/// Whether the newest snapshot is the one that the file asks for: a crash came before the file was
/// removed. Its place alone does not say so: a corrected file meets there the snapshot of the one
/// before, and in an ordinary cluster, too, the last entry may change the members and be followed
/// by a snapshot.
bool is_recovered(const StartState& start, const Configuration& wanted) {
  const auto last = start.log.last_index();
  return start.snapshot && start.snapshot->index == last
         && start.snapshot->configuration_index == last
         && start.snapshot->configuration.members == wanted.members;
}

/// Everything in the log, committed or not, as a snapshot under the members of `next`.
Result<> save_recovered(storage::RaftLog& log,
                        const RaftOptions& options,
                        Fsm& fsm,
                        const StartState& start,
                        const Configuration& next) {
  const auto last = start.log.last_index();
  NOMAD_TRY(apply_log(log, fsm, (start.snapshot ? start.snapshot->index : 0) + 1, last));
  const SnapshotMeta meta{.index = last,
                          .term = start.log.last_term(),
                          .configuration = next,
                          .configuration_index = last};
  auto writer = NOMAD_TRY(storage::SnapshotWriter::create(snapshot_directory(options), meta));
  NOMAD_TRY(fsm.snapshot()->write(*writer));
  NOMAD_TRY(writer->finish());
  log::warn("raft", "recovered by peers.json",
            {{"index", last}, {"cluster", next.cluster_id}, {"count", next.members.size()}});
  return {};
}

/// Carries out a peers.json (recovery.hpp), if there is one. A crash on the way repeats it.
Result<> recover(storage::RaftLog& log, const RaftOptions& options, Fsm& fsm) {
  const auto text = NOMAD_TRY(read_peers_file(options.directory));
  if (text.empty()) return {};
  auto start = NOMAD_TRY(load(log, options, fsm));
  const auto last = start.log.last_index();
  if (last == 0)
    return Error{Errc::invalid_argument,
                 "peers.json: this server has no log to recover; let it join instead"};
  const auto next = NOMAD_TRY(recovered_configuration(start.configs.latest(), options.self, text));
  if (!is_recovered(start, next))
    NOMAD_TRY(save_recovered(log, options, fsm, start, next));
  else
    log::warn("raft", "peers.json names the members that the snapshot has", {{"index", last}});
  // Also when only this was left to do: entries that name the old members must not reach others.
  LogWrite write;
  write.reset_to = last;
  NOMAD_TRY(log.write(write));
  return remove_peers_file(options.directory);
}

/// So many heartbeats must be missing before nothing is sent to the leader any more.
constexpr int heartbeats_of_silence = 3;

}  // namespace

Result<StartedRaft> start_raft(const actor::Owner& owner,
                               const RaftOptions& options,
                               std::shared_ptr<Fsm> fsm,
                               LeadershipListener listener) {
  if (options.self.empty()) return Error{Errc::invalid_argument, "a server needs an id"};
  NOMAD_TRY(storage::make_directory(options.directory));
  // A full disk has room for the start by that: the log writer takes it again.
  storage::Reserve{log_path(options) + ".reserve"}.give_back();
  const bool accepts = std::filesystem::exists(accepts_path(options));
  if (accepts)
    log::warn("raft", "the log is taken as it is, whatever its mark said",
              {{"path", accepts_path(options)}});
  auto log = NOMAD_TRY(storage::RaftLog::open(log_path(options), {.accept_as_is = accepts}));
  NOMAD_TRY(recover(log, options, *fsm));
  auto start = NOMAD_TRY(load(log, options, *fsm));
  if (accepts) NOMAD_TRY(storage::remove_file(accepts_path(options)));
  auto reader = NOMAD_TRY(storage::RaftLog::open(log_path(options)));

  NodeParts parts;
  parts.options = options;
  parts.core_options = {.self = options.self,
                        .heartbeat_interval = options.heartbeat_interval,
                        .election_timeout = options.election_timeout};
  parts.applied = start.snapshot ? start.snapshot->index : 0;
  parts.start = std::move(start);
  parts.seed = Random::from_system().next();
  parts.fsm = std::move(fsm);
  parts.read_log = [reader = std::make_shared<storage::RaftLog>(std::move(reader))](
                       Index first, Index last, std::size_t max_bytes) {
    return reader->read(first, last, max_bytes);
  };
  parts.snapshot_directory = snapshot_directory(options);
  parts.queue
      = std::make_shared<ProposalQueue>(options.max_waiting_entries, options.max_waiting_bytes);
  parts.lease = std::make_shared<LeaderLease>();
  parts.counters = std::make_shared<RaftCounters>();
  parts.leader = std::make_shared<LeaderView>(heartbeats_of_silence * options.heartbeat_interval);
  parts.listener = std::move(listener);
  parts.spawn_log_writer
      = [log = std::make_shared<storage::RaftLog>(std::move(log)), counters = parts.counters](
            const actor::Owner& node_itself, LogWriterListener node) {
          return spawn_log_writer(node_itself, log, std::move(node), counters);
        };
  parts.spawn_snapshotter
      = [directory = parts.snapshot_directory, keep = options.snapshots_kept,
         fsm = std::shared_ptr<const Fsm>{parts.fsm}](const actor::Owner& node) {
          return spawn_snapshotter(node, directory, std::max(keep, 1U), fsm);
        };
  parts.clock = [] { return Time{LeaderLease::now()}; };

  const Proposer proposer{parts.queue};
  const auto lease = parts.lease;
  const auto counters = parts.counters;
  const auto leader = parts.leader;
  const std::shared_ptr<const Fsm> checker = parts.fsm;
  auto node = spawn_raft_node(owner, std::move(parts), true);
  const RaftInbox inbox{node, checker, options.max_inbox_bytes};
  return StartedRaft{.node = std::move(node),
                     .proposer = proposer,
                     .lease = lease,
                     .counters = counters,
                     .inbox = inbox,
                     .leader = leader};
}

}  // namespace nomad::raft
