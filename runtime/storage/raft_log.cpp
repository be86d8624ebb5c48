#include "runtime/storage/raft_log.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/storage/checksum.hpp"
#include "runtime/storage/directory.hpp"
#include "runtime/storage/log_mark.hpp"
#include "runtime/storage/mark_file.hpp"
#include "runtime/storage/sqlite.hpp"
#include "runtime/storage/stable_store.hpp"

namespace nomad::storage {
namespace {

constexpr raft::Index max_rows_per_truncation = 2'000;

/// Writes wait for a turn of cutting the log's beginning: 1 to 2 ms.
constexpr raft::Index max_rows_per_cut = 500;
/// Version 2: with a mark.
constexpr FileFormat format_of_log{.name = "raft log", .id = 0x6e6d'524c, .version = 2};
constexpr auto table_of_log
    = "CREATE TABLE IF NOT EXISTS log(idx INTEGER PRIMARY KEY, term INTEGER NOT NULL,"
      " kind INTEGER NOT NULL, payload BLOB NOT NULL, checksum INTEGER NOT NULL);";
constexpr std::uint64_t seed_of_log = 0x6c6f'6700'0000'0001;

constexpr std::string_view log_remedy
    = "Put back a sound copy of the directory; or let this server join anew with an empty one, if "
      "the others have its data; or, if this is the only copy, put an empty file "
      "\"accept-log-as-is\" into the directory: the server starts with what it finds";

std::int64_t to_sql(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

std::uint64_t from_sql(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

std::uint64_t checksum_of(const raft::Entry& entry) {
  const auto position
      = mix(mix(mix(seed_of_log, entry.index), entry.term), static_cast<std::uint64_t>(entry.kind));
  return checksum(entry.payload.view(), position);
}

}  // namespace

struct RaftLog::Parts {
  Parts(Database opened, MarkFile beside, LogOptions chosen)
      : database(std::move(opened)), mark_file(std::move(beside)), options(std::move(chosen)) {}

  Database database;
  MarkFile mark_file;
  LogMark mark;              ///< What `mark_file` says.
  std::int32_t version = 0;  ///< Of the file when it was opened.
  LogOptions options;
  StableStore stable;
  Statement insert;
  Statement select;
  Statement limits;
  Statement erase_from;
  Statement erase_to;
  Statement erase_all;
  LogBounds known;  ///< What the table holds, so that each append can be checked for holes.

  Result<> prepare() {
    const bool is_empty = NOMAD_TRY(database.is_empty());
    if (is_empty && mark_file.content()) return lost("it is empty");
    NOMAD_TRY(database.sync_commits(false));  // until the last of what a new file needs
    version = NOMAD_TRY(require_format(database, format_of_log));
    NOMAD_TRY(database.run(table_of_log));
    if (version == format_of_log.version && !mark_file.content())
      NOMAD_TRY(begin_wal(database, format_of_log));
    NOMAD_TRY(database.sync_commits(true));
    stable = NOMAD_TRY(StableStore::open(database));
    NOMAD_TRY(database.prepare(insert, "INSERT INTO log VALUES(?1, ?2, ?3, ?4, ?5)"));
    NOMAD_TRY(database.prepare(select,
                               "SELECT idx, term, kind, payload, checksum FROM log"
                               " WHERE idx >= ?1 AND idx <= ?2 ORDER BY idx"));
    NOMAD_TRY(database.prepare(limits,
                               "SELECT coalesce((SELECT min(idx) FROM log), 0),"
                               " coalesce((SELECT max(idx) FROM log), 0)"));
    NOMAD_TRY(database.prepare(erase_from, "DELETE FROM log WHERE idx >= ?1"));
    NOMAD_TRY(database.prepare(erase_to, "DELETE FROM log WHERE idx < ?1"));
    NOMAD_TRY(database.prepare(erase_all, "DELETE FROM log"));
    NOMAD_TRY(load_bounds());
    return load_mark();
  }

  /// Of a log that has none, made of what it holds: a new one, or one of an earlier version. The
  /// first one is written with the owner's name, or after the first entry.
  Result<> load_mark() {
    if (const auto& content = mark_file.content()) {
      const auto marked = LogMark::decode(*content);
      if (!marked) return lost(marked.error().what);
      mark = *marked;
      return {};
    }
    const auto state = NOMAD_TRY(stable.load());
    const bool is_new = known.empty() && state == raft::HardState{};
    if (version == format_of_log.version && !is_new && !options.accept_as_is)
      return lost("its mark is missing");
    mark = {
        .term = state.current_term, .vote = LogMark::sum_of(state.voted_for), .last = known.last};
    return {};
  }

  Result<> save_mark(const LogMark& next, bool is_durable) {
    if (next == mark && mark_file.content()) return {};
    NOMAD_TRY(mark_file.write(next.encode(), is_durable));
    mark = next;
    return {};
  }

  Error lost(std::string_view what) const { return lost_data(database.path(), what, log_remedy); }

  /// The entry that the mark names: in the log, or covered by a snapshot.
  Result<> find_marked(raft::Index covered) {
    if (mark.last <= covered) return {};
    if (known.last < mark.last)
      return lost(fmt::format("it ends at entry {}, but entry {} was acknowledged",
                              std::max(known.last, covered), mark.last));
    if (mark.last_term == 0 || mark.last < known.first) return {};
    select.bind(1, to_sql(mark.last));
    select.bind(2, to_sql(mark.last));
    const auto entry = next_row(mark.last);
    select.reset();
    if (!entry) return entry.error();
    if (entry->term != mark.last_term)
      return lost(fmt::format("entry {} is of term {}, but the one of term {} was acknowledged",
                              mark.last, entry->term, mark.last_term));
    return {};
  }

  Result<> verify(const raft::ServerId& self, raft::Index covered) {
    if (const auto sound = database.check_structure(); !sound) return lost(sound.error().what);
    const auto owner = LogMark::sum_of(self);
    if (mark.owner != 0 && mark.owner != owner)
      return Error{Errc::corrupt,
                   fmt::format("\"{}\" is the log of another server than \"{}\": its id "
                               "(server/node-id) or \"{}.mark\" was changed",
                               database.path(), self, database.path())};
    const auto state = NOMAD_TRY(stable.load());
    if (const auto sound = mark.check(state); !sound) return lost(sound.error().what);
    NOMAD_TRY(load_bounds());
    NOMAD_TRY(find_marked(covered));
    auto named = mark;
    named.owner = owner;
    NOMAD_TRY(save_mark(named, true));
    // From now on a mark must be there.
    if (version == format_of_log.version) return {};
    return database.run(set_version(format_of_log));
  }

  Error damaged(raft::Index index, std::string_view what) const {
    return {Errc::corrupt, "\"" + database.path() + "\": log entry " + std::to_string(index) + ": "
                               + std::string{what}};
  }

  Result<> load_bounds() {
    NOMAD_TRY(limits.step("cannot read the log's bounds"));
    known = {from_sql(limits.number(0)), from_sql(limits.number(1))};
    limits.reset();
    return {};
  }

  Result<> truncate_suffix_to(raft::Index first) {
    erase_from.bind(1, to_sql(first));
    NOMAD_TRY(erase_from.run("cannot truncate the log"));
    known.last = std::min(known.last, first - 1);
    return {};
  }

  /// What goes beyond the rows of one transaction goes first, from the end: entries that conflict
  /// with a leader's were never committed, so any shorter log is as good.
  Result<> shorten_ahead(raft::Index first) {
    while (!known.empty() && known.last >= first + max_rows_per_truncation) {
      auto transaction = NOMAD_TRY(Transaction::begin(database));
      NOMAD_TRY(truncate_suffix_to(known.last - max_rows_per_truncation + 1));
      NOMAD_TRY(transaction.commit("cannot truncate the log"));
    }
    return {};
  }

  Result<> append(const raft::Entry& entry) {
    if (known.last != 0 && entry.index != known.last + 1)
      return Error{Errc::internal, "\"" + database.path() + "\": entry "
                                       + std::to_string(entry.index) + " would leave a hole after "
                                       + std::to_string(known.last)};
    insert.bind(1, to_sql(entry.index));
    insert.bind(2, to_sql(entry.term));
    insert.bind(3, static_cast<std::int64_t>(entry.kind));
    insert.bind_blob(4, entry.payload.view());
    insert.bind(5, to_sql(checksum_of(entry)));
    NOMAD_TRY(insert.run("cannot append to the log"));
    if (known.empty()) known.first = entry.index;
    known.last = entry.index;
    return {};
  }

  Result<> apply(const LogWrite& write) {
    if (write.hard_state) NOMAD_TRY(stable.save(*write.hard_state));
    if (write.reset_to) {
      NOMAD_TRY(erase_all.run("cannot reset the log"));
      known = {*write.reset_to + 1, *write.reset_to};
    }
    if (write.truncate_from) NOMAD_TRY(truncate_suffix_to(*write.truncate_from));
    for (const auto& entry : write.append)
      NOMAD_TRY(append(entry));
    return {};
  }

  Result<> write(std::span<const LogWrite> writes) {
    NOMAD_TRY(keep_wal_bounded());
    if (const auto less = mark.during(writes); !(less == mark)) NOMAD_TRY(save_mark(less, true));
    // Only the first change may be split: those before another one would have to be durable first.
    if (!writes.empty() && writes.front().truncate_from)
      NOMAD_TRY(shorten_ahead(*writes.front().truncate_from));
    auto transaction = NOMAD_TRY(Transaction::begin(database));
    for (const auto& write : writes)
      NOMAD_TRY(apply(write));
    NOMAD_TRY(transaction.commit("cannot write the log"));
    // What is written is durable: for want of room the mark stays behind, which promises less.
    const auto marked = save_mark(mark.after(writes), false);
    return marked || marked.error().code == Errc::overloaded ? Result<>{} : marked.error();
  }

  Result<> keep_wal_bounded() {
    if (database.wal_pages() < options.max_wal_pages) return {};
    NOMAD_TRY(database.checkpoint(true));
    return {};
  }

  /// The next row of `select`, which must be the entry `expected`.
  Result<raft::Entry> next_row(raft::Index expected) {
    const auto found = NOMAD_TRY(select.step("cannot read log entry " + std::to_string(expected)));
    if (!found) return damaged(expected, "is missing");
    raft::Entry entry;
    entry.index = from_sql(select.number(0));
    if (entry.index != expected) return damaged(expected, "is missing");
    entry.term = from_sql(select.number(1));
    const auto kind = select.number(2);
    if (kind < 0 || kind > static_cast<std::int64_t>(raft::EntryKind::configuration))
      return damaged(expected, "is of an unknown kind");
    entry.kind = static_cast<raft::EntryKind>(kind);
    entry.payload = raft::Bytes::copy(select.blob(3));
    if (from_sql(select.number(4)) != checksum_of(entry))
      return damaged(expected, "checksum does not match");
    return entry;
  }
};

Result<RaftLog> RaftLog::open(const std::string& path, const LogOptions& options) {
  auto mark = NOMAD_TRY(options.accept_as_is ? MarkFile::begin_anew(path + ".mark")
                                             : open_mark(path, log_remedy));
  const bool is_marked = mark.content().has_value();
  auto database = NOMAD_TRY(Database::open(
      path, {.begin_with = set_format(format_of_log) + table_of_log + StableStore::table,
             .vfs = options.vfs}));
  auto parts = std::make_unique<Parts>(std::move(database), std::move(mark), options);
  // It has both files before they hold anything; where the mark does, it has them already.
  if (!is_marked) NOMAD_TRY(sync_directory(directory_of(path)));
  NOMAD_TRY(parts->prepare());
  return RaftLog{std::move(parts)};
}

RaftLog::RaftLog(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

RaftLog::RaftLog(RaftLog&&) noexcept = default;
RaftLog& RaftLog::operator=(RaftLog&&) noexcept = default;
RaftLog::~RaftLog() = default;

Result<> RaftLog::verify(const raft::ServerId& self, raft::Index covered) {
  return parts_->verify(self, covered);
}

Result<raft::HardState> RaftLog::hard_state() {
  return parts_->stable.load();
}

Result<LogBounds> RaftLog::bounds() {
  NOMAD_TRY(parts_->load_bounds());
  return parts_->known;
}

Result<> RaftLog::write(std::span<const LogWrite> writes) {
  auto outcome = parts_->write(writes);
  if (outcome) return outcome;
  // The file is as before; what we believe of it must not run ahead. The first error tells why.
  if (auto reread = parts_->load_bounds(); !reread) parts_->known = {};
  return outcome;
}

Result<bool> RaftLog::truncate_prefix(raft::Index through) {
  auto& known = parts_->known;
  if (known.empty() || through < known.first) return false;
  const auto end = std::min({through, known.last, known.first + max_rows_per_cut - 1});
  parts_->erase_to.bind(1, to_sql(end + 1));
  NOMAD_TRY(parts_->erase_to.run("cannot truncate the log"));
  known.first = end + 1;
  return end < std::min(through, known.last);
}

Result<std::vector<raft::Entry>> RaftLog::read(raft::Index first,
                                               raft::Index last,
                                               std::size_t max_bytes) {
  auto& select = parts_->select;
  select.bind(1, to_sql(first));
  select.bind(2, to_sql(last));
  std::vector<raft::Entry> entries;
  Result<> outcome;
  for (std::size_t bytes = 0; outcome && first + entries.size() <= last && bytes < max_bytes;) {
    auto entry = parts_->next_row(first + entries.size());
    if (!entry) {
      outcome = entry.error();
      break;
    }
    bytes += entry->payload.size() + sizeof(raft::Entry);
    entries.push_back(std::move(*entry));
  }
  select.reset();
  if (outcome) return entries;
  NOMAD_TRY(parts_->load_bounds());
  if (first < parts_->known.first || first > parts_->known.last)
    return Error{Errc::not_found, outcome.error().what};
  return outcome.error();
}

int RaftLog::wal_pages() const {
  return parts_->database.wal_pages();
}

Result<> RaftLog::finish_checkpoint() {
  NOMAD_TRY(parts_->database.checkpoint(false));
  return {};
}

const std::string& RaftLog::path() const {
  return parts_->database.path();
}

struct WalCheckpointer::Parts {
  Database database;
};

Result<WalCheckpointer> WalCheckpointer::open(const std::string& path, const std::string& vfs) {
  auto database = NOMAD_TRY(Database::open(path, {.create = false, .vfs = vfs}));
  return WalCheckpointer{std::make_unique<Parts>(Parts{std::move(database)})};
}

WalCheckpointer::WalCheckpointer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

WalCheckpointer::WalCheckpointer(WalCheckpointer&&) noexcept = default;
WalCheckpointer& WalCheckpointer::operator=(WalCheckpointer&&) noexcept = default;
WalCheckpointer::~WalCheckpointer() = default;

Result<int> WalCheckpointer::run() {
  const auto counts = NOMAD_TRY(parts_->database.checkpoint(false));
  return counts.copied_pages;
}

}  // namespace nomad::storage
