// runtime/storage/snapshot_file: whole or absent, verified row by row.
#include "runtime/storage/snapshot_file.hpp"

#include <filesystem>
#include <fstream>
#include <map>

#include <sys/mount.h>

#include <doctest/doctest.h>
#include <sqlite3.h>

#include "runtime/storage/snapshot_exchange.hpp"
#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/runtime/storage/fault_vfs.hpp"
#include "test/unit/runtime/storage/file_size_limit.hpp"
#include "test/unit/runtime/storage/run_sql.hpp"

using namespace nomad;
using storage::SnapshotReader;
using storage::SnapshotWriter;

namespace {

using Tables = std::map<std::string, std::map<std::string, std::string>>;

raft::SnapshotMeta meta(raft::Index index) {
  return {.index = index,
          .term = 3,
          .configuration = {.cluster_id = "cluster",
                            .members = {{.id = "a", .address = "127.0.0.1:4647", .voter = true}},
                            .removed = {"b"}},
          .configuration_index = 2};
}

const Tables sample
    = {{"jobs", {{"default\0web", "one"}, {"default\0zz", std::string(10'000, 'j')}}},
       {"nodes", {}},
       {"allocs", {{"1", "running"}, {"2", ""}, {"3", "dead"}}}};

Result<> fill(SnapshotWriter& writer, const Tables& tables) {
  for (const auto& [name, rows] : tables) {
    NOMAD_TRY(writer.begin_table(name));
    for (const auto& [key, value] : rows)
      NOMAD_TRY(writer.row(key, std::as_bytes(std::span{value})));
  }
  return {};
}

Result<storage::SnapshotFile> write(const std::string& directory,
                                    raft::Index index,
                                    const Tables& tables = sample,
                                    const std::string& vfs = {}) {
  auto writer = SnapshotWriter::create(directory, meta(index), vfs);
  if (!writer) return writer.error();
  NOMAD_TRY(fill(**writer, tables));
  return (*writer)->finish();
}

Result<Tables> read(SnapshotReader& reader) {
  Tables tables;
  const auto names = reader.tables();
  if (!names) return names.error();
  for (const auto& name : *names) {
    auto& rows = tables[name];
    NOMAD_TRY(reader.read(
        name, [&rows](std::string_view key, std::span<const std::byte> value) -> Result<> {
          CHECK(reinterpret_cast<std::uintptr_t>(value.data()) % 8 == 0);
          rows[std::string{key}] = {reinterpret_cast<const char*>(value.data()), value.size()};
          return {};
        }));
  }
  return tables;
}

}  // namespace

TEST_CASE("snapshot_file: what was written is read back, with its meta data") {
  test::TempDir dir;
  const auto file = write(dir.path(), 17).value();

  auto reader = std::move(SnapshotReader::open(file.path).value());
  CHECK(reader->meta() == meta(17));
  CHECK(read(*reader).value() == sample);
  CHECK(reader->verify());
}

TEST_CASE("snapshot_file: the newest comes first; old and unfinished ones are removed") {
  test::TempDir dir;
  for (const raft::Index index : {5, 40, 12})
    REQUIRE(write(dir.path(), index));
  std::ofstream{dir.file("snapshot-0000000000000003-0000000000000063.db.unfinished")} << "half";
  std::ofstream{dir.file("notes.txt")} << "not ours";

  auto files = storage::list_snapshots(dir.path()).value();
  REQUIRE(files.size() == 3);
  CHECK(files[0].index == 40);
  CHECK(files[2].index == 5);

  REQUIRE(storage::remove_old_snapshots(dir.path(), 2));
  CHECK(storage::list_snapshots(dir.path()).value().size() == 2);
  CHECK_FALSE(std::filesystem::exists(
      dir.file("snapshot-0000000000000003-0000000000000063.db.unfinished")));
  CHECK(std::filesystem::exists(dir.file("notes.txt")));
}

TEST_CASE("snapshot_file: a writer that is given up leaves nothing") {
  test::TempDir dir;
  {
    auto writer = std::move(SnapshotWriter::create(dir.path(), meta(1)).value());
    REQUIRE(fill(*writer, sample));
  }
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("snapshot_file: rows out of order and bad table names are refused") {
  test::TempDir dir;
  auto writer = std::move(SnapshotWriter::create(dir.path(), meta(1)).value());
  CHECK_FALSE(writer->row("a", {}));
  CHECK_FALSE(writer->begin_table("sqlite_x"));
  CHECK_FALSE(writer->begin_table("a\"; DROP TABLE x"));
  REQUIRE(writer->begin_table("jobs"));
  REQUIRE(writer->row("b", {}));
  CHECK_FALSE(writer->row("b", {}));
  CHECK_FALSE(writer->row("a", {}));
}

TEST_CASE("snapshot_file: damage is named by file, table and row") {
  test::TempDir dir;
  const auto path = write(dir.path(), 9).value().path;
  const auto first_error = [&path] {
    auto reader = SnapshotReader::open(path);
    if (!reader) return reader.error();
    auto outcome = (*reader)->verify();
    return outcome ? Error{} : outcome.error();
  };

  SUBCASE("a changed value") {
    test::run_sql(path, "UPDATE allocs SET value = 'x' WHERE rowid = 2");
    CHECK(
        first_error()
        == Error{Errc::corrupt, "\"" + path + "\": table allocs, row 2: checksum does not match"});
  }
  SUBCASE("a missing last row") {
    test::run_sql(path, "DELETE FROM allocs WHERE rowid = 3");
    CHECK(first_error()
          == Error{Errc::corrupt, "\"" + path + "\": table allocs has 2 rows, 3 were written"});
  }
  SUBCASE("a row moved to another table") {
    test::run_sql(path, "INSERT INTO nodes SELECT * FROM allocs WHERE rowid = 1");
    CHECK(first_error().code == Errc::corrupt);
  }
  SUBCASE("a table taken out of the list") {
    test::run_sql(path, "DELETE FROM snapshot_tables WHERE name = 'allocs'");
    CHECK(first_error()
          == Error{Errc::corrupt, "\"" + path + "\": the list of tables is incomplete"});
  }
  SUBCASE("a changed sum") {
    test::run_sql(path, "UPDATE snapshot_tables SET rows = 7 WHERE name = 'allocs'");
    CHECK(first_error()
          == Error{Errc::corrupt,
                   "\"" + path + "\": table allocs: the checksum of its sum does not match"});
  }
  SUBCASE("members that are missing") {
    test::run_sql(path, "DELETE FROM snapshot_meta WHERE name = 'configuration'");
    CHECK(first_error() == Error{Errc::corrupt, "\"" + path + "\": the configuration is missing"});
  }
  SUBCASE("a changed index") {
    test::run_sql(path, "UPDATE snapshot_meta SET value = '10' WHERE name = 'index'");
    CHECK(first_error().code == Errc::corrupt);
  }
  SUBCASE("a file cut off") {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    CHECK(first_error().code == Errc::corrupt);
    CHECK(first_error().what.find(path) != std::string::npos);
  }
  SUBCASE("an empty file") {
    std::filesystem::resize_file(path, 0);
    CHECK(first_error().code == Errc::corrupt);
  }
  SUBCASE("a newer format") {
    test::run_sql(path, "PRAGMA user_version=2");
    CHECK(first_error().what == "\"" + path + "\" has format 2, this program reads up to 1");
  }
}

TEST_CASE("snapshot_file: any flipped bit is noticed or harmless") {
  test::TempDir dir;
  const auto path = write(dir.path(), 9).value().path;
  const auto size = std::filesystem::file_size(path);
  std::ifstream in{path, std::ios::binary};
  const std::string good{std::istreambuf_iterator<char>{in}, {}};
  for (std::size_t at = 0; at < size; at += 37) {
    CAPTURE(at);
    auto bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    std::ofstream{path, std::ios::binary} << bad;
    auto reader = SnapshotReader::open(path);
    if (!reader) continue;
    const auto tables = read(**reader);
    if (tables) {
      CHECK(*tables == sample);
      CHECK((*reader)->meta() == meta(9));
    }
  }
}

TEST_CASE("snapshot_file: tables have names, and rows an order") {
  test::TempDir dir;
  auto writer = SnapshotWriter::create(dir.path(), meta(9)).value();
  const auto row
      = [&](std::string_view key) { return writer->row(key, std::as_bytes(std::span{key})); };
  CHECK(row("a").error() == Error{Errc::internal, "a snapshot's row needs a table"});
  CHECK(writer->begin_table("sqlite_x\"").error()
        == Error{Errc::internal, "\"sqlite_x\"\" cannot name a snapshot's table"});
  REQUIRE(writer->begin_table("jobs"));
  REQUIRE(row("b"));
  CHECK(row("a").error() == Error{Errc::internal, "snapshot table jobs: row 2 is out of order"});
}

TEST_CASE("snapshot_exchange: what arrived is what was announced") {
  test::TempDir here;
  test::TempDir there;
  const auto sent = write(there.path(), 8).value();
  const auto data
      = storage::read_snapshot_part(sent.path, 0, storage::file_size(sent.path).value()).value();
  REQUIRE(storage::store_snapshot_part(here.path(), meta(9), 0, data));
  const auto finished = storage::finish_arrived(here.path(), meta(9),
                                                [](raft::SnapshotRows&) { return Result<>{}; });
  CHECK(finished.error().code == Errc::corrupt);
  CHECK(finished.error().what.starts_with("\"" + here.path() + "/arriving-"));
  CHECK(finished.error().what.ends_with("\" is another snapshot than the announced one"));
  CHECK(storage::file_size(here.file("gone")).error().what
        == "cannot examine \"" + here.file("gone") + "\": No such file or directory");
}

TEST_CASE("snapshot_file: a full or failing disk is an error and leaves no file") {
  test::TempDir dir;
  test::FaultVfs vfs;
  for (const auto fault :
       {test::DiskFault::io_error, test::DiskFault::disk_full, test::DiskFault::short_write}) {
    vfs.fail_writes_after(2, fault);
    const auto outcome = write(dir.path(), 9, sample, test::FaultVfs::name());
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code
          == (fault == test::DiskFault::io_error ? Errc::io : Errc::overloaded));
    CHECK(outcome.error().what.find(dir.path()) != std::string::npos);
    vfs.heal();
    CHECK(std::filesystem::is_empty(dir.path()));
  }
}

TEST_CASE("snapshot: a large one leaves the last room of the disk, a small one asks for nothing") {
  test::TempDir disk;
  if (::mount("tmpfs", disk.path().c_str(), "tmpfs", 0, "size=40m") != 0) {
    MESSAGE("skipped: needs the right to mount");
    return;
  }
  const std::string mebibyte(std::size_t{1} << 20, 'x');
  Tables large;
  for (int row = 10; row < 40; ++row)
    large["jobs"][std::to_string(row)] = mebibyte;
  const auto refused = write(disk.path(), 1, large).error();
  CHECK(refused.code == Errc::overloaded);
  CHECK(refused.what.starts_with("no room in \"" + disk.path() + "\": "));
  CHECK(refused.what.ends_with(" bytes are left"));
  CHECK(std::filesystem::is_empty(disk.path()));

  const auto part = raft::Bytes::copy(mebibyte);
  std::uint64_t next = 0;
  Result<std::uint64_t> stored = next;
  while (stored && next < 30 * mebibyte.size()) {
    stored = storage::store_snapshot_part(disk.path(), meta(2), next, part);
    next += mebibyte.size();
  }
  REQUIRE(stored.has_error());
  CHECK(stored.error().code == Errc::overloaded);
  CHECK(next > 8 * mebibyte.size());
  CHECK(std::filesystem::is_empty(disk.path()));

  std::ofstream{disk.file("filler")} << std::string(20 * mebibyte.size(), 'x');
  CHECK(write(disk.path(), 3).has_value());
  CHECK(storage::store_snapshot_part(disk.path(), meta(4), 0, part).has_value());
  ::umount(disk.path().c_str());
}

TEST_CASE("snapshot_exchange: of a file that finds no room nothing is left") {
  test::TempDir dir;
  const auto part = raft::Bytes::copy(std::string(1'000, 'x'));
  REQUIRE(storage::store_snapshot_part(dir.path(), meta(9), 0, part).value() == 1'000);
  CHECK_FALSE(std::filesystem::is_empty(dir.path()));
  const test::FileSizeLimit limit{1'500};
  CHECK(storage::store_snapshot_part(dir.path(), meta(9), 1'000, part).error().code == Errc::io);
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("snapshot_exchange: an arrived file that cannot be restored leaves what is there") {
  test::TempDir here;
  test::TempDir there;
  REQUIRE(write(here.path(), 5));
  const auto sent = write(there.path(), 9).value();
  const auto data
      = storage::read_snapshot_part(sent.path, 0, storage::file_size(sent.path).value()).value();
  const auto arrive = [&](const storage::TakeRows& take) {
    REQUIRE(storage::store_snapshot_part(here.path(), meta(9), 0, data));
    return storage::finish_arrived(here.path(), meta(9), take);
  };

  const Error unknown{Errc::corrupt, "a table is unknown"};
  CHECK(arrive([&](raft::SnapshotRows&) -> Result<> { return unknown; }).error() == unknown);
  CHECK(storage::list_snapshots(here.path()).value().front().index == 5);

  std::size_t seen = 0;
  CHECK(arrive([&](raft::SnapshotRows& rows) -> Result<> {
    seen = rows.tables().value().size();
    return {};
  }));
  CHECK(seen == sample.size());
  CHECK(storage::list_snapshots(here.path()).value().front().index == 9);
}
