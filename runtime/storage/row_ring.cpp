#include "runtime/storage/row_ring.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/log.hpp"
#include "runtime/storage/checksum.hpp"
#include "runtime/storage/directory.hpp"

namespace nomad::storage {
namespace {

constexpr FileFormat format_of_ring{.name = "ring of rows", .id = 0x6e6d'5252, .version = 1};
// What is looked at of each row stands before the value, which may be on pages of its own.
constexpr auto tables_of_ring
    = "CREATE TABLE IF NOT EXISTS ring(number INTEGER PRIMARY KEY, size INTEGER NOT NULL,"
      " key BLOB NOT NULL, checksum INTEGER NOT NULL, value BLOB NOT NULL);"
      "CREATE TABLE IF NOT EXISTS note(number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL,"
      " value BLOB NOT NULL);";
constexpr auto columns_of_ring
    = "SELECT ring.number, key, ring.checksum, ring.value, note.checksum, note.value FROM ring"
      " LEFT JOIN note ON note.number = ring.number ";
constexpr std::uint64_t seed_of_ring = 0x7269'6e67'0000'0001;
constexpr std::uint64_t seed_of_notes = 0x7269'6e67'0000'0002;
constexpr int pages_before_checkpoint = 1'000;

std::span<const std::byte> key_bytes(std::string_view text) {
  return std::as_bytes(std::span{text});
}

std::uint64_t sum_of(const RingRow& row) {
  return checksum(row.value, checksum(row.key, mix(seed_of_ring, row.number)));
}

std::uint64_t sum_of(const RingNote& note) {
  return checksum(note.value, mix(seed_of_notes, note.number));
}

/// Calls `visit` for the sound rows that a bound statement finds and whose key fits.
Result<> visit_rows(Statement& statement, std::string_view prefix, const RowRing::Visit& visit) {
  while (true) {
    const bool found = NOMAD_TRY(statement.step("cannot read the kept rows"));
    if (!found) return {};
    RingRow row{.number = static_cast<std::uint64_t>(statement.number(0)),
                .key = statement.text(1),
                .value = {}};
    if (!row.key.starts_with(prefix)) continue;
    row.value = statement.blob(3);
    if (static_cast<std::uint64_t>(statement.number(2)) != sum_of(row)) continue;
    RingNote note{.number = row.number, .value = statement.blob(5)};
    if (static_cast<std::uint64_t>(statement.number(4)) != sum_of(note)) note.value = {};
    if (!visit(row, note.value)) return {};
  }
}

}  // namespace

Result<RowRing> RowRing::open(const std::string& path, const RingLimits& limits) {
  RowRing ring{path, limits};
  if (const auto opened = ring.open_file(); !opened) {
    if (opened.error().code != Errc::corrupt) return opened.error();
    NOMAD_TRY(ring.begin_anew(opened.error()));
  }
  return ring;
}

Result<> RowRing::open_file() {
  database_ = NOMAD_TRY(Database::open(path_, {.syncs = false}));
  NOMAD_TRY(require_format(*database_, format_of_ring));
  NOMAD_TRY(database_->run(tables_of_ring));
  NOMAD_TRY(database_->prepare(
      insert_, "INSERT INTO ring(number, size, key, checksum, value) VALUES(?1, ?2, ?3, ?4, ?5)"));
  return database_->prepare(note_,
                            "INSERT OR REPLACE INTO note(number, checksum, value) SELECT ?1, ?2, ?3"
                            " WHERE EXISTS (SELECT 1 FROM ring WHERE number = ?1)");
}

Result<> RowRing::begin_anew(const Error& reason) {
  log::warn("storage", "the file begins anew, without the rows that were kept",
            {{"error", reason}});
  insert_ = {};
  note_ = {};
  database_.reset();
  is_counted_ = false;
  for (const auto* suffix : {"", "-wal", "-shm"})
    NOMAD_TRY(remove_file(path_ + suffix));
  return open_file();
}

Result<std::uint64_t> RowRing::newest() {
  if (!database_) NOMAD_TRY(open_file());
  auto read = NOMAD_TRY(database_->prepare("SELECT max(number) FROM ring"));
  NOMAD_TRY(read.step("cannot read the newest of the kept rows"));
  return static_cast<std::uint64_t>(read.number(0));
}

Result<> RowRing::count() {
  if (is_counted_) return {};
  auto read = NOMAD_TRY(database_->prepare("SELECT count(*), sum(size) FROM ring"));
  NOMAD_TRY(read.step("cannot count the kept rows"));
  rows_ = static_cast<std::uint64_t>(read.number(0));
  bytes_ = static_cast<std::uint64_t>(read.number(1));
  is_counted_ = true;
  return {};
}

Result<> RowRing::write(const std::vector<RingRow>& rows, const std::vector<RingNote>& notes) {
  for (const auto& row : rows)
    if (row.value.size() > limits_.row_bytes)
      return Error{Errc::too_large,
                   fmt::format("\"{}\": row {} has {} bytes, at most {} are kept", path_,
                               row.number, row.value.size(), limits_.row_bytes)};
  if (!database_) NOMAD_TRY(open_file());
  const auto written = write_all(rows, notes);
  if (written) return {};
  is_counted_ = false;
  if (written.error().code == Errc::corrupt)
    if (const auto begun = begin_anew(written.error()); !begun) return begun;
  return written;
}

Result<> RowRing::write_all(const std::vector<RingRow>& rows, const std::vector<RingNote>& notes) {
  NOMAD_TRY(count());
  auto transaction = NOMAD_TRY(Transaction::begin(*database_));
  for (const auto& row : rows) {
    insert_.bind(1, static_cast<std::int64_t>(row.number));
    insert_.bind(2, static_cast<std::int64_t>(row.value.size()));
    insert_.bind_blob(3, key_bytes(row.key));
    insert_.bind(4, static_cast<std::int64_t>(sum_of(row)));
    insert_.bind_blob(5, row.value);
    NOMAD_TRY(insert_.run("cannot keep a row"));
    ++rows_;
    bytes_ += row.value.size();
  }
  for (const auto& note : notes) {
    note_.bind(1, static_cast<std::int64_t>(note.number));
    note_.bind(2, static_cast<std::int64_t>(sum_of(note)));
    note_.bind_blob(3, note.value);
    NOMAD_TRY(note_.run("cannot note what became of a row"));
  }
  NOMAD_TRY(remove_oldest());
  NOMAD_TRY(transaction.commit("cannot keep rows"));
  if (database_->wal_pages() < pages_before_checkpoint) return {};
  NOMAD_TRY(database_->checkpoint(false));
  return {};
}

Result<> RowRing::remove_oldest() {
  if (rows_ <= limits_.rows && bytes_ <= limits_.bytes) return {};
  std::int64_t last = 0;
  {
    auto oldest = NOMAD_TRY(database_->prepare("SELECT number, size FROM ring ORDER BY number"));
    while (rows_ > limits_.rows || bytes_ > limits_.bytes) {
      const bool found = NOMAD_TRY(oldest.step("cannot read the oldest of the kept rows"));
      if (!found) break;
      last = oldest.number(0);
      --rows_;
      bytes_ -= static_cast<std::uint64_t>(oldest.number(1));
    }
  }
  for (const auto* sql :
       {"DELETE FROM ring WHERE number <= ?1", "DELETE FROM note WHERE number <= ?1"}) {
    auto remove = NOMAD_TRY(database_->prepare(sql));
    remove.bind(1, last);
    NOMAD_TRY(remove.run("cannot remove the oldest of the kept rows"));
  }
  return {};
}

Result<> RowRing::each(std::uint64_t before, std::string_view prefix, const Visit& visit) {
  if (!database_) NOMAD_TRY(open_file());
  auto read = NOMAD_TRY(database_->prepare(std::string{columns_of_ring}
                                           + "WHERE ring.number < ?1 ORDER BY ring.number DESC"));
  read.bind(1, before == 0 ? std::numeric_limits<std::int64_t>::max()
                           : static_cast<std::int64_t>(before));
  return visit_rows(read, prefix, visit);
}

Result<> RowRing::find(std::uint64_t number, const Visit& visit) {
  if (!database_) NOMAD_TRY(open_file());
  auto read
      = NOMAD_TRY(database_->prepare(std::string{columns_of_ring} + "WHERE ring.number = ?1"));
  read.bind(1, static_cast<std::int64_t>(number));
  return visit_rows(read, {}, visit);
}

}  // namespace nomad::storage
