// operator raft info, logs, state: what the log of a stopped server holds.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>

#include <boost/json.hpp>
#include <capnp/schema.h>
#include <fmt/format.h>

#include "cli/api.hpp"
#include "cli/arguments.hpp"
#include "cli/operator/state_view.hpp"
#include "cli/output/layout.hpp"
#include "cli/run.hpp"
#include "runtime/object/object.hpp"
#include "runtime/state/store.hpp"
#include "runtime/storage/data_dir_lock.hpp"
#include "runtime/storage/raft_log.hpp"
#include "runtime/storage/snapshot_file.hpp"
#include "schema/command.capnp.h"

namespace nomad::cli {
namespace {

namespace fs = std::filesystem;

/// Entries that are read at once, and their bytes.
constexpr raft::Index portion_entries = 1'000;
constexpr std::size_t portion_bytes = std::size_t{4} << 20;

/// Where whoever uses the log in `directory` holds a lock: an agent, in its data directory. A log
/// that stands by itself, a copy, is locked where it is, so that nothing is written elsewhere.
std::string lock_position(const std::string& directory) {
  std::error_code failure;
  for (const auto& whole :
       {fs::absolute(directory, failure).lexically_normal(), fs::canonical(directory, failure)}) {
    const auto raft = whole.has_filename() ? whole : whole.parent_path();
    const auto data_dir = raft.parent_path().parent_path();
    if (raft.filename() == "raft" && raft.parent_path().filename() == "server"
        && storage::DataDirLock::is_in(data_dir.string()))
      return data_dir.string();
  }
  return directory;
}

/// The log of a data directory that no agent uses meanwhile, or a copy of one.
class LogFiles {
public:
  /// `path`: the data directory, or one that it leads to the log by.
  static Result<LogFiles> open(const std::string& path) {
    for (const std::string_view below : {"/server/raft", "/raft", ""}) {
      const auto directory = path + std::string{below};
      std::error_code failure;
      if (!fs::exists(directory + "/raft.db", failure)) continue;
      auto lock = NOMAD_TRY(storage::DataDirLock::take(lock_position(directory)));
      auto log = NOMAD_TRY(
          storage::RaftLog::open(directory + "/raft.db").within("failed to open raft logs"));
      return LogFiles{directory, std::move(lock), std::move(log)};
    }
    return mistake(
        fmt::format("failed to find raft.db in \"{}\": expected the data directory of a "
                    "server",
                    path));
  }

  const std::string& directory() const { return directory_; }

  storage::RaftLog& log() { return log_; }

  /// Calls `use(entry)` for the entries of the log, in order.
  template <class Use>
  Result<> each_entry(raft::Index first, raft::Index last, Use use) {
    while (first <= last) {
      const auto end = std::min(last, first + portion_entries - 1);
      const auto entries = NOMAD_TRY(log_.read(first, end, portion_bytes));
      for (const auto& entry : entries)
        NOMAD_TRY(use(entry));
      first = entries.back().index + 1;
    }
    return {};
  }

private:
  LogFiles(std::string directory, storage::DataDirLock lock, storage::RaftLog log)
      : directory_{std::move(directory)}, lock_{std::move(lock)}, log_{std::move(log)} {}

  std::string directory_;
  storage::DataDirLock lock_;
  storage::RaftLog log_;
};

Result<Object<schema::Command>> command_of(const raft::Entry& entry) {
  return Object<schema::Command>::from_bytes(entry.payload.view())
      .within(fmt::format("entry {} of the log", entry.index));
}

/// Of a guarded one, what was guarded.
std::string name_of_command(schema::Command::Reader command) {
  if (command.isGuarded()) command = command.getGuarded().getCommand();
  const auto number = static_cast<unsigned>(command.which());
  for (const auto field : capnp::Schema::from<schema::Command>().getUnionFields())
    if (field.getProto().getDiscriminantValue() == number)
      return std::string{field.getProto().getName().cStr()};
  return fmt::format("unknown command {}", number);
}

std::string_view name_of_kind(raft::EntryKind kind) {
  switch (kind) {
    case raft::EntryKind::command:
      return "LogCommand";
    case raft::EntryKind::barrier:
      return "LogBarrier";
    case raft::EntryKind::configuration:
      return "LogConfiguration";
  }
  return "";
}

/// Commands by their names alone: what they write is sealed in part, and has its own forms.
Result<boost::json::object> entry_as_json(const raft::Entry& entry) {
  boost::json::object out{
      {"LogType", name_of_kind(entry.kind)}, {"Term", entry.term}, {"Index", entry.index}};
  if (entry.kind == raft::EntryKind::command)
    out["CommandType"] = name_of_command(*NOMAD_TRY(command_of(entry)));
  out["Bytes"] = entry.payload.view().size();
  return out;
}

/// What a state is made of: a snapshot, if there is one, and the entries behind it.
struct StateSource {
  std::optional<storage::SnapshotFile> snapshot{};
  raft::Index first = 1;  ///< The entries `first`…`last` of the log; none if `last` is less.
  raft::Index last = 0;
};

/// Of the state as the log's entry `asked` has left it, or, if that is 0 or less, the one so many
/// before the end. The snapshots are the newest first. An error if something is missing between.
Result<StateSource> source_of_state(std::int64_t asked,
                                    const storage::LogBounds& log,
                                    const std::vector<storage::SnapshotFile>& snapshots) {
  const auto newest = snapshots.empty() ? raft::Index{0} : snapshots.front().index;
  const auto end = static_cast<std::int64_t>(std::max(log.empty() ? 0 : log.last, newest));
  const auto wanted = asked > 0 ? asked : end + asked;
  StateSource source;
  if (wanted <= 0) return source;
  source.last = static_cast<raft::Index>(std::min(wanted, end));
  const auto fitting = std::ranges::find_if(
      snapshots, [&](const storage::SnapshotFile& one) { return one.index <= source.last; });
  if (fitting != snapshots.end()) {
    source.snapshot = *fitting;
    source.first = fitting->index + 1;
  }
  if (source.first > source.last) return source;
  const auto held_from = log.empty() ? source.last + 1 : log.first;
  const auto held_to = log.empty() ? raft::Index{0} : log.last;
  const auto missing = [&](raft::Index from, raft::Index to) {
    return mistake(fmt::format(
        "entries {}..{} are in neither the log nor a snapshot{}", from, to,
        source.snapshot ? "" : fmt::format(": there is no snapshot of {} or before", source.last)));
  };
  if (held_from > source.first) return missing(source.first, std::min(held_from - 1, source.last));
  if (held_to < source.last) return missing(held_to + 1, source.last);
  return source;
}

const WordCount one_path{1, 1, "This command takes one argument: <path>"};

}  // namespace

Result<int> run_operator_raft_info(const std::vector<std::string>& arguments) {
  Arguments parser{"operator raft info <path to data dir>",
                   "Shows what the log of a stopped server spans."};
  if (auto code = parser.parse(arguments, one_path)) return *code;
  auto files = NOMAD_TRY(LogFiles::open(parser.positional()[0]));
  const auto bounds = NOMAD_TRY(files.log().bounds());
  std::cout << fmt::format("path:        {}\nlength:      {}\nfirst index: {}\nlast index:  {}\n",
                           files.log().path(), bounds.empty() ? 0 : bounds.last - bounds.first + 1,
                           bounds.first, bounds.last);
  return 0;
}

Result<int> run_operator_raft_logs(const std::vector<std::string>& arguments) {
  Arguments parser{"operator raft logs [options] <path to data dir>",
                   "Prints the entries of a stopped server's log as JSON, one a line."};
  auto& pretty = parser.flag("pretty", "Lays each entry out in lines.");
  if (auto code = parser.parse(arguments, one_path)) return *code;
  auto files = NOMAD_TRY(LogFiles::open(parser.positional()[0]));
  const auto bounds = NOMAD_TRY(files.log().bounds());
  if (bounds.empty()) return 0;
  NOMAD_TRY(files.each_entry(bounds.first, bounds.last, [&](const raft::Entry& entry) -> Result<> {
    const auto shown = NOMAD_TRY(entry_as_json(entry));
    if (pretty)
      print_json(shown);
    else
      std::cout << boost::json::serialize(shown) << '\n';
    return {};
  }));
  return 0;
}

Result<int> run_operator_raft_state(const std::vector<std::string>& arguments) {
  Arguments parser{"operator raft state [options] <path to data dir>",
                   "Prints the state that comes of a stopped server's snapshot and log."};
  auto& last = parser.number("last-index",
                             "The last entry that counts; 0 or less: so many before the end.");
  if (auto code = parser.parse(arguments, one_path)) return *code;
  auto files = NOMAD_TRY(LogFiles::open(parser.positional()[0]));
  const auto bounds = NOMAD_TRY(files.log().bounds());
  const auto snapshots = NOMAD_TRY(storage::list_snapshots(files.directory() + "/snapshots"));
  const auto source = NOMAD_TRY(source_of_state(last, bounds, snapshots));
  state::Store store;
  raft::Index applied = 0;
  storage::ArchiveMeta meta;
  if (source.snapshot) {
    applied = source.snapshot->index;
    meta.term = source.snapshot->term;
    store.replace(NOMAD_TRY(read_tables(source.snapshot->path)), applied);
  }
  NOMAD_TRY(files.each_entry(source.first, source.last, [&](const raft::Entry& entry) -> Result<> {
    applied = entry.index;
    meta.term = entry.term;
    if (entry.kind != raft::EntryKind::command) return {};
    const auto command = NOMAD_TRY(command_of(entry));
    NOMAD_TRY(state::check_command(*command));
    store.apply(entry.index, *command);
    return {};
  }));
  store.publish();
  meta.index = applied;
  const auto tables = NOMAD_TRY(tables_of(store.snapshot()));
  print_json(describe_state(tables, meta));
  return 0;
}

}  // namespace nomad::cli
