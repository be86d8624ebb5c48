#include "runtime/storage/client_store.hpp"

#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "runtime/storage/checksum.hpp"
#include "runtime/storage/directory.hpp"
#include "runtime/storage/mark_file.hpp"
#include "runtime/storage/sqlite.hpp"

namespace nomad::storage {
namespace {

/// Version 2: with totals and a mark.
constexpr FileFormat format_of_store{.name = "client state", .id = 0x6e6d'434c, .version = 2};
constexpr auto table_of_rows
    = "CREATE TABLE IF NOT EXISTS client(bucket INTEGER NOT NULL, key BLOB NOT NULL,"
      " value BLOB NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY(bucket, key)) WITHOUT ROWID";
constexpr std::uint64_t seed_of_rows = 0x636c'6965'6e74'0001;

/// After this many pages in the write-ahead log, a commit copies them into the file.
constexpr int checkpoint_after_pages = 1'000;

std::uint64_t checksum_of(Bucket bucket, std::string_view key, std::string_view value) {
  return checksum(value, checksum(key, mix(seed_of_rows, static_cast<std::uint64_t>(bucket))));
}

constexpr std::string_view client_remedy
    = "Move these files away and start the agent again: what it has to run is known to the "
      "servers, what runs here to the executors";

constexpr Bucket own_bucket{0};
constexpr std::string_view totals_key = "totals";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

/// The first key behind all that start with `prefix`; empty when there is none.
std::string end_of_prefix(std::string_view prefix) {
  std::string end{prefix};
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff)
    end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

}  // namespace

/// What the whole store comes to, as its own row and its mark say it.
struct StoreTotals {
  std::uint64_t commits = 0;
  std::uint64_t sum = 0;  ///< Of the rows' checksums, modulo 2^64.

  std::string encode() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }

  static Result<StoreTotals> decode(std::string_view bytes) {
    StoreTotals totals;
    if (bytes.size() != sizeof totals)
      return Error{Errc::corrupt, fmt::format("totals of {} bytes", bytes.size())};
    std::memcpy(&totals, bytes.data(), sizeof totals);
    return totals;
  }

  friend bool operator==(const StoreTotals&, const StoreTotals&) = default;
};

void ClientBatch::put(Bucket bucket, std::string key, std::string value) {
  changes_.push_back({Action::put, bucket, std::move(key), std::move(value)});
}

void ClientBatch::erase(Bucket bucket, std::string key) {
  changes_.push_back({Action::erase, bucket, std::move(key), {}});
}

void ClientBatch::erase_prefix(Bucket bucket, std::string prefix) {
  changes_.push_back({Action::erase_prefix, bucket, std::move(prefix), {}});
}

void ClientBatch::drop_overwritten() {
  std::set<std::pair<Bucket, std::string_view>> seen;
  std::set<std::pair<Bucket, std::string_view>> erased;  // prefixes
  const auto is_erased = [&erased](const Change& change) {
    const auto behind = erased.upper_bound({change.bucket, change.key});
    return behind != erased.begin() && std::prev(behind)->first == change.bucket
           && change.key.starts_with(std::prev(behind)->second);
  };
  std::vector<bool> keeps(changes_.size());
  for (auto at = changes_.size(); at-- > 0;) {
    const auto& change = changes_[at];
    if (is_erased(change)) continue;
    auto& table = change.action == Action::erase_prefix ? erased : seen;
    keeps[at] = table.emplace(change.bucket, change.key).second;
  }
  std::size_t at = 0;
  std::erase_if(changes_, [&](const Change&) { return !keeps[at++]; });
}

struct ClientStore::Parts {
  Parts(Database opened, MarkFile beside) : database(std::move(opened)), mark(std::move(beside)) {}

  Database database;
  MarkFile mark;
  StoreTotals totals;
  Statement put;
  Statement erase;
  Statement erase_range;
  Statement erase_rest;
  Statement get;
  Statement scan;
  Statement scan_rest;

  Result<> prepare() {
    const bool is_empty = NOMAD_TRY(database.is_empty());
    if (is_empty && mark.content()) return lost("it is empty");
    NOMAD_TRY(database.sync_commits(false));  // until the last of what a new file needs
    const auto version = NOMAD_TRY(require_format(database, format_of_store));
    if (version == format_of_store.version && !mark.content())
      NOMAD_TRY(begin_wal(database, format_of_store));
    NOMAD_TRY(database.sync_commits(true));
    NOMAD_TRY(database.run(table_of_rows));
    NOMAD_TRY(database.prepare(put, "INSERT OR REPLACE INTO client VALUES(?1, ?2, ?3, ?4)"));
    NOMAD_TRY(database.prepare(erase, "DELETE FROM client WHERE bucket = ?1 AND key = ?2"));
    NOMAD_TRY(database.prepare(erase_range,
                               "DELETE FROM client WHERE bucket = ?1 AND key >= ?2 AND key < ?3"));
    NOMAD_TRY(database.prepare(erase_rest, "DELETE FROM client WHERE bucket = ?1 AND key >= ?2"));
    NOMAD_TRY(
        database.prepare(get, "SELECT value, checksum FROM client WHERE bucket = ?1 AND key = ?2"));
    NOMAD_TRY(database.prepare(scan,
                               "SELECT value, checksum, key FROM client WHERE bucket = ?1"
                               " AND key >= ?2 AND key < ?3 ORDER BY key"));
    NOMAD_TRY(database.prepare(scan_rest,
                               "SELECT value, checksum, key FROM client WHERE bucket = ?1"
                               " AND key >= ?2 ORDER BY key"));
    return verify(version);
  }

  Error lost(std::string_view what) const {
    return lost_data(database.path(), what, client_remedy);
  }

  Result<> verify(std::int32_t version) {
    if (const auto sound = database.check_structure(); !sound) return lost(sound.error().what);
    auto found = sum_of_all_rows();
    if (!found) return lost(found.error().what);
    const auto stored = read(own_bucket, totals_key);
    if (!stored) return lost(stored.error().what);
    if (!*stored) return begin(version, *found);
    const auto now = StoreTotals::decode(**stored);
    if (!now) return lost(now.error().what);
    if (now->sum != *found) return lost("rows are missing, or are there that were erased");
    if (!mark.content()) return lost("its mark is missing");
    const auto marked = StoreTotals::decode(*mark.content());
    if (!marked) return lost(marked.error().what);
    if (now->commits < marked->commits)
      return lost(
          fmt::format("it ends at commit {}, but there were {}", now->commits, marked->commits));
    if (now->commits == marked->commits && now->sum != marked->sum)
      return lost("it is another one than its mark tells of");
    totals = *now;
    return {};
  }

  /// A new store, or one of an earlier version.
  Result<> begin(std::int32_t version, std::uint64_t sum) {
    if (mark.content() && version == format_of_store.version) {
      const auto marked = StoreTotals::decode(*mark.content());
      if (!marked || marked->commits != 0) return lost("its totals are missing");
    }
    NOMAD_TRY(mark.write(StoreTotals{.commits = 0, .sum = sum}.encode(), true));
    auto transaction = NOMAD_TRY(Transaction::begin(database));
    NOMAD_TRY(save_totals({.commits = 1, .sum = sum}));
    NOMAD_TRY(database.run(set_version(format_of_store)));
    NOMAD_TRY(transaction.commit("cannot begin the client state"));
    totals = {.commits = 1, .sum = sum};
    return mark.write(totals.encode(), false);
  }

  /// Checks each row.
  Result<std::uint64_t> sum_of_all_rows() {
    auto all = NOMAD_TRY(
        database.prepare("SELECT value, checksum, key, bucket FROM client WHERE bucket > 0"));
    std::uint64_t sum = 0;
    while (true) {
      const bool found = NOMAD_TRY(all.step("cannot read the client state"));
      if (!found) return sum;
      NOMAD_TRY(value_of(static_cast<Bucket>(all.number(3)), all.text(2), all));
      sum += static_cast<std::uint64_t>(all.number(1));
    }
  }

  Result<std::optional<std::string>> read(Bucket bucket, std::string_view key) {
    get.bind(1, static_cast<std::int64_t>(bucket));
    get.bind_blob(2, bytes_of(key));
    const auto found = get.step("cannot read \"" + std::string{key} + "\"");
    Result<std::optional<std::string>> outcome = std::optional<std::string>{};
    if (!found) {
      outcome = found.error();
    } else if (*found) {
      const auto value = value_of(bucket, key, get);
      if (value)
        outcome = std::optional<std::string>{*value};
      else
        outcome = value.error();
    }
    get.reset();
    return outcome;
  }

  Result<> save_totals(const StoreTotals& next) {
    return save(own_bucket, totals_key, next.encode());
  }

  Result<> save(Bucket bucket, std::string_view key, std::string_view value) {
    put.bind(1, static_cast<std::int64_t>(bucket));
    put.bind_blob(2, bytes_of(key));
    put.bind_blob(3, bytes_of(value));
    put.bind(4, static_cast<std::int64_t>(checksum_of(bucket, key, value)));
    return put.run("cannot save \"" + std::string{key} + "\"");
  }

  /// Binds `bounded`, or `unbounded` where nothing comes behind, to the keys that begin with
  /// `prefix`.
  static Statement& bind_prefix(Statement& bounded,
                                Statement& unbounded,
                                Bucket bucket,
                                std::string_view prefix,
                                const std::string& end) {
    auto& statement = end.empty() ? unbounded : bounded;
    statement.bind(1, static_cast<std::int64_t>(bucket));
    statement.bind_blob(2, bytes_of(prefix));
    if (!end.empty()) statement.bind_blob(3, bytes_of(end));
    return statement;
  }

  /// Takes the rows that a bound `statement` finds out of the sum.
  static Result<> forget(StoreTotals& next, Statement& statement) {
    Result<bool> found = true;
    while ((found = statement.step("cannot read the sums")) && *found)
      next.sum -= static_cast<std::uint64_t>(statement.number(1));
    statement.reset();
    return found ? Result<>{} : found.error();
  }

  Result<> forget_row(StoreTotals& next, Bucket bucket, std::string_view key) {
    get.bind(1, static_cast<std::int64_t>(bucket));
    get.bind_blob(2, bytes_of(key));
    return forget(next, get);
  }

  /// All of `batch` in the open transaction; `next` becomes what the store comes to.
  Result<> apply_all(const std::vector<ClientBatch::Change>& changes, StoreTotals& next) {
    for (const auto& change : changes)
      NOMAD_TRY(apply(change, next));
    ++next.commits;
    return save_totals(next);
  }

  Result<> apply(const ClientBatch::Change& change, StoreTotals& next) {
    switch (change.action) {
      case ClientBatch::Action::put:
        NOMAD_TRY(forget_row(next, change.bucket, change.key));
        next.sum += checksum_of(change.bucket, change.key, change.value);
        return save(change.bucket, change.key, change.value);
      case ClientBatch::Action::erase:
        NOMAD_TRY(forget_row(next, change.bucket, change.key));
        erase.bind(1, static_cast<std::int64_t>(change.bucket));
        erase.bind_blob(2, bytes_of(change.key));
        return erase.run("cannot erase \"" + change.key + "\"");
      case ClientBatch::Action::erase_prefix: {
        const auto end = end_of_prefix(change.key);
        NOMAD_TRY(forget(next, bind_prefix(scan, scan_rest, change.bucket, change.key, end)));
        return bind_prefix(erase_range, erase_rest, change.bucket, change.key, end)
            .run("cannot erase \"" + change.key + "*\"");
      }
    }
    return Error{Errc::internal, "unknown change of the client state"};
  }

  /// The row that `statement` stands on: value, checksum.
  Result<std::string_view> value_of(Bucket bucket,
                                    std::string_view key,
                                    const Statement& statement) {
    const auto value = statement.text(0);
    if (static_cast<std::uint64_t>(statement.number(1)) != checksum_of(bucket, key, value))
      return Error{Errc::corrupt, "\"" + database.path() + "\": bucket "
                                      + std::to_string(static_cast<int>(bucket)) + ", key \""
                                      + std::string{key} + "\": checksum does not match"};
    return value;
  }
};

Result<ClientStore> ClientStore::open(const std::string& path) {
  auto mark = NOMAD_TRY(path == in_memory ? MarkFile::in_memory() : open_mark(path, client_remedy));
  const bool is_marked = mark.content().has_value();
  auto database = NOMAD_TRY(
      Database::open(path, {.begin_with = set_format(format_of_store) + table_of_rows}));
  auto parts = std::make_unique<Parts>(std::move(database), std::move(mark));
  // It has both files before they hold anything; where the mark does, it has them already.
  if (!is_marked) NOMAD_TRY(sync_directory(directory_of(path)));
  NOMAD_TRY(parts->prepare());
  return ClientStore{std::move(parts)};
}

ClientStore::ClientStore(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ClientStore::ClientStore(ClientStore&&) noexcept = default;
ClientStore& ClientStore::operator=(ClientStore&&) noexcept = default;
ClientStore::~ClientStore() = default;

Result<> ClientStore::commit(const ClientBatch& batch) {
  auto transaction = NOMAD_TRY(Transaction::begin(parts_->database));
  auto next = parts_->totals;
  NOMAD_TRY(parts_->apply_all(batch.changes_, next));
  NOMAD_TRY(transaction.commit("cannot save the client state"));
  parts_->totals = next;
  // What is saved is durable: for want of room the mark stays behind, which promises less.
  if (const auto marked = parts_->mark.write(next.encode(), false);
      !marked && marked.error().code != Errc::overloaded)
    return marked;
  if (parts_->database.wal_pages() < checkpoint_after_pages) return {};
  // It waits for the next commit if there is no room for it now: the changes are saved.
  const auto done = parts_->database.checkpoint(false);
  return done || done.error().code == Errc::overloaded ? Result<>{} : done.error();
}

Result<std::optional<std::string>> ClientStore::get(Bucket bucket, std::string_view key) {
  return parts_->read(bucket, key);
}

Result<> ClientStore::scan(Bucket bucket, std::string_view prefix, const Row& row) {
  const auto end = end_of_prefix(prefix);
  auto& statement = Parts::bind_prefix(parts_->scan, parts_->scan_rest, bucket, prefix, end);
  Result<> outcome;
  while (outcome) {
    const auto found = statement.step("cannot scan the client state");
    if (!found) outcome = found.error();
    if (!found || !*found) break;
    const auto key = statement.text(2);
    outcome = row(key, parts_->value_of(bucket, key, statement));
  }
  statement.reset();
  return outcome;
}

}  // namespace nomad::storage
