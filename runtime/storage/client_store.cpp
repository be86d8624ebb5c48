#include "runtime/storage/client_store.hpp"

#include "runtime/storage/checksum.hpp"
#include "runtime/storage/directory.hpp"
#include "runtime/storage/sqlite.hpp"

namespace nomad::storage {
namespace {

constexpr FileFormat format_of_store{.name = "client state", .id = 0x6e6d'434c, .version = 1};
constexpr std::uint64_t seed_of_rows = 0x636c'6965'6e74'0001;

/// After this many pages in the write-ahead log, a commit copies them into the file.
constexpr int checkpoint_after_pages = 1'000;

std::uint64_t checksum_of(Bucket bucket, std::string_view key, std::string_view value) {
  return checksum(value, checksum(key, mix(seed_of_rows, static_cast<std::uint64_t>(bucket))));
}

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

void ClientBatch::put(Bucket bucket, std::string key, std::string value) {
  changes_.push_back({Action::put, bucket, std::move(key), std::move(value)});
}

void ClientBatch::erase(Bucket bucket, std::string key) {
  changes_.push_back({Action::erase, bucket, std::move(key), {}});
}

void ClientBatch::erase_prefix(Bucket bucket, std::string prefix) {
  changes_.push_back({Action::erase_prefix, bucket, std::move(prefix), {}});
}

struct ClientStore::Parts {
  explicit Parts(Database opened) : database(std::move(opened)) {}

  Database database;
  Statement put;
  Statement erase;
  Statement erase_range;
  Statement erase_rest;
  Statement get;
  Statement scan;
  Statement scan_rest;

  Result<> prepare() {
    NOMAD_TRY(require_format(database, format_of_store));
    NOMAD_TRY(
        database.run("CREATE TABLE IF NOT EXISTS client(bucket INTEGER NOT NULL, key BLOB NOT NULL,"
                     " value BLOB NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY(bucket, key)) "
                     "WITHOUT ROWID"));
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
    return database.prepare(scan_rest,
                            "SELECT value, checksum, key FROM client WHERE bucket = ?1"
                            " AND key >= ?2 ORDER BY key");
  }

  Result<> apply(const ClientBatch::Change& change) {
    const auto bucket = static_cast<std::int64_t>(change.bucket);
    switch (change.action) {
      case ClientBatch::Action::put:
        put.bind(1, bucket);
        put.bind_blob(2, bytes_of(change.key));
        put.bind_blob(3, bytes_of(change.value));
        put.bind(4,
                 static_cast<std::int64_t>(checksum_of(change.bucket, change.key, change.value)));
        return put.run("cannot save \"" + change.key + "\"");
      case ClientBatch::Action::erase:
        erase.bind(1, bucket);
        erase.bind_blob(2, bytes_of(change.key));
        return erase.run("cannot erase \"" + change.key + "\"");
      case ClientBatch::Action::erase_prefix: {
        const auto end = end_of_prefix(change.key);
        auto& statement = end.empty() ? erase_rest : erase_range;
        statement.bind(1, bucket);
        statement.bind_blob(2, bytes_of(change.key));
        if (!end.empty()) statement.bind_blob(3, bytes_of(end));
        return statement.run("cannot erase \"" + change.key + "*\"");
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
  auto database = Database::open(path);
  if (!database) return database.error();
  auto parts = std::make_unique<Parts>(std::move(*database));
  NOMAD_TRY(parts->prepare());
  NOMAD_TRY(sync_directory(directory_of(path)));
  return ClientStore{std::move(parts)};
}

ClientStore::ClientStore(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ClientStore::ClientStore(ClientStore&&) noexcept = default;
ClientStore& ClientStore::operator=(ClientStore&&) noexcept = default;
ClientStore::~ClientStore() = default;

Result<> ClientStore::commit(const ClientBatch& batch) {
  auto transaction = Transaction::begin(parts_->database);
  if (!transaction) return transaction.error();
  for (const auto& change : batch.changes_)
    NOMAD_TRY(parts_->apply(change));
  NOMAD_TRY(transaction->commit("cannot save the client state"));
  if (parts_->database.wal_pages() < checkpoint_after_pages) return {};
  const auto done = parts_->database.checkpoint(false);
  if (!done) return done.error();
  return {};
}

Result<std::optional<std::string>> ClientStore::get(Bucket bucket, std::string_view key) {
  auto& statement = parts_->get;
  statement.bind(1, static_cast<std::int64_t>(bucket));
  statement.bind_blob(2, bytes_of(key));
  const auto found = statement.step("cannot read \"" + std::string{key} + "\"");
  Result<std::optional<std::string>> outcome = std::optional<std::string>{};
  if (!found) {
    outcome = found.error();
  } else if (*found) {
    const auto value = parts_->value_of(bucket, key, statement);
    if (value)
      outcome = std::optional<std::string>{*value};
    else
      outcome = value.error();
  }
  statement.reset();
  return outcome;
}

Result<> ClientStore::scan(Bucket bucket, std::string_view prefix, const Row& row) {
  const auto end = end_of_prefix(prefix);
  auto& statement = end.empty() ? parts_->scan_rest : parts_->scan;
  statement.bind(1, static_cast<std::int64_t>(bucket));
  statement.bind_blob(2, bytes_of(prefix));
  if (!end.empty()) statement.bind_blob(3, bytes_of(end));
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
