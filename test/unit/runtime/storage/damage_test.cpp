// runtime/storage: one flipped bit, anywhere in a file of the log or of the client's state, either
// changes nothing of what was acknowledged, or the file is refused by its name.
#include "test/unit/runtime/storage/damage.hpp"

#include <doctest/doctest.h>

#include "runtime/storage/client_store.hpp"
#include "runtime/storage/raft_log.hpp"
#include "runtime/storage/snapshot_file.hpp"
#include "test/support/result_text.hpp"
#include "test/unit/runtime/storage/run_sql.hpp"

using namespace nomad;
using storage::Bucket;
using storage::ClientBatch;
using storage::ClientStore;
using storage::RaftLog;

namespace {

constexpr raft::Index written_entries = 40;
constexpr int written_rows = 30;

const raft::HardState written_state{.current_term = 3, .voted_for = "server-a"};

/// What is acknowledged is there, each entry in a transaction of its own.
void fill_log(RaftLog& log) {
  REQUIRE(log.verify("server-a", 0));
  for (raft::Index index = 1; index <= written_entries; ++index) {
    storage::LogWrite write;
    if (index == 1) write.hard_state = written_state;
    write.append.push_back(
        {index, 3, raft::EntryKind::command,
         raft::Bytes::copy(std::string(100 * index, static_cast<char>('a' + index % 26)))});
    REQUIRE(log.write(write));
  }
}

/// As a start does it.
Result<> open_log(const std::string& path) {
  auto log = RaftLog::open(path);
  if (!log) return log.error();
  NOMAD_TRY(log->verify("server-a", 0));
  const auto entries = log->read(1, written_entries, std::size_t{1} << 30);
  if (!entries) return entries.error();
  const auto state = log->hard_state();
  if (!state) return state.error();
  CHECK(entries->size() == written_entries);
  CHECK(*state == written_state);
  return {};
}

void fill_store(ClientStore& store) {
  for (int row = 0; row < written_rows; ++row) {
    ClientBatch batch;
    batch.put(Bucket::alloc, "alloc-" + std::to_string(row), std::string(50 * row, 'x'));
    batch.put(Bucket::meta, "secret", std::to_string(row));
    REQUIRE(store.commit(batch));
  }
}

Result<> open_store(const std::string& path) {
  auto store = ClientStore::open(path);
  if (!store) return store.error();
  int rows = 0;
  NOMAD_TRY(store->scan(Bucket::alloc, "",
                        [&](std::string_view, Result<std::string_view> value) -> Result<> {
                          if (!value) return value.error();
                          ++rows;
                          return {};
                        }));
  const auto secret = store->get(Bucket::meta, "secret");
  if (!secret) return secret.error();
  CHECK(rows == written_rows);
  CHECK(*secret == std::to_string(written_rows - 1));
  return {};
}

constexpr int snapshot_rows = 50;

void write_snapshot(const std::string& directory) {
  auto writer = storage::SnapshotWriter::create(
      directory, {.index = 9, .term = 3, .configuration = {}, .configuration_index = 1});
  REQUIRE(writer);
  REQUIRE((*writer)->begin_table("jobs"));
  for (int row = 10; row < 10 + snapshot_rows; ++row) {
    const std::string value(40 * row, 'x');
    REQUIRE((*writer)->row(std::to_string(row), std::as_bytes(std::span{value})));
  }
  REQUIRE((*writer)->finish());
}

Result<> open_snapshot(const std::string& path) {
  auto reader = storage::SnapshotReader::open(path);
  if (!reader) return reader.error();
  int rows = 0;
  NOMAD_TRY((*reader)->read("jobs", [&rows](std::string_view, std::span<const std::byte>) {
    ++rows;
    return Result<>{};
  }));
  CHECK(rows == snapshot_rows);
  CHECK((*reader)->meta().index == 9);
  return {};
}

/// Flips bits in each file of `from`, which are those of the database `name`; returns how many of
/// the copies were refused.
template <class Open>
std::size_t flip_all(const std::string& from, const std::string& name, const Open& open) {
  std::size_t refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator{from}) {
    const auto file = entry.path().filename().string();
    const auto stride = std::max<std::size_t>(entry.file_size() / 60, 1) | 1;
    test::with_flipped_bits(from, file, stride, [&](const std::string& copy, std::size_t offset) {
      CAPTURE(file);
      CAPTURE(offset);
      const auto path = copy + "/" + name;
      const auto outcome = open(path);
      if (outcome) return;
      ++refused;
      CHECK(outcome.error().what.find(path) != std::string::npos);
    });
  }
  return refused;
}

/// The files as a killed process leaves them: the database with its write-ahead log.
template <class Database>
void copy_while_open(const Database&, const std::string& from, const std::string& to) {
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

}  // namespace

TEST_CASE("damage: a flipped bit in the log of a killed server") {
  test::TempDir dir;
  test::TempDir copy;
  auto log = std::move(RaftLog::open(dir.file("raft.db")).value());
  fill_log(log);
  copy_while_open(log, dir.path(), copy.path());
  CHECK(std::filesystem::file_size(copy.file("raft.db-wal")) > 100'000);
  CHECK(open_log(copy.file("raft.db")));
  test::TempDir again;
  copy_while_open(log, dir.path(), again.path());
  CHECK(flip_all(again.path(), "raft.db", open_log) > 150);
}

TEST_CASE("damage: a flipped bit in a log that lies in its file") {
  test::TempDir dir;
  {
    auto log = std::move(RaftLog::open(dir.file("raft.db")).value());
    fill_log(log);
  }
  test::fold_wal(dir.file("raft.db"));
  CHECK(flip_all(dir.path(), "raft.db", open_log) > 60);
}

TEST_CASE("damage: a flipped bit in a snapshot") {
  test::TempDir dir;
  write_snapshot(dir.path());
  CHECK(flip_all(dir.path(), storage::snapshot_name(3, 9), open_snapshot) > 60);
}

TEST_CASE("damage: a flipped bit in the state of a killed client") {
  test::TempDir dir;
  test::TempDir copy;
  auto store = std::move(ClientStore::open(dir.file("state.db")).value());
  fill_store(store);
  copy_while_open(store, dir.path(), copy.path());
  CHECK(flip_all(copy.path(), "state.db", open_store) > 150);
}

TEST_CASE("damage: a flipped bit in a client's state that lies in its file") {
  test::TempDir dir;
  {
    auto store = std::move(ClientStore::open(dir.file("state.db")).value());
    fill_store(store);
  }
  test::fold_wal(dir.file("state.db"));
  CHECK(flip_all(dir.path(), "state.db", open_store) > 40);
}
