// runtime/storage/sqlite: how a file begins, and what a connection shares with the rest of the
// process.
#include "runtime/storage/sqlite.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <latch>
#include <thread>

#include <doctest/doctest.h>
#include <sqlite3.h>

#include "runtime/base/resident.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/runtime/storage/fault_vfs.hpp"

using namespace nomad;
using namespace nomad::storage;

TEST_CASE("sqlite: giving back memory waits for no connection at work") {
  static std::latch is_at_work{1};
  const auto tell = [](sqlite3* connection, char**, const sqlite3_api_routines*) {
    sqlite3_progress_handler(
        connection, 1'000'000,
        [](void*) {
          if (!is_at_work.try_wait()) is_at_work.count_down();
          return 0;
        },
        nullptr);
    return SQLITE_OK;
  };
  const auto as_extension = reinterpret_cast<void (*)()>(
      static_cast<int (*)(sqlite3*, char**, const sqlite3_api_routines*)>(tell));
  sqlite3_auto_extension(as_extension);
  auto database = Database::open(std::string{in_memory}).value();
  sqlite3_cancel_auto_extension(as_extension);
  std::atomic<bool> is_over = false;
  std::thread worker{[&] {
    auto counting = database
                        .prepare(
                            "WITH RECURSIVE counted(number) AS (SELECT 1 UNION ALL "
                            "SELECT number + 1 FROM counted LIMIT 20000000) "
                            "SELECT count(*) FROM counted")
                        .value();
    CHECK(counting.step("counting").value());
    is_over = true;
    CHECK(counting.number(0) == 20000000);
  }};
  is_at_work.wait();  // It is in the middle of its step.
  release_unused_pages();
  CHECK_FALSE(is_over);
  worker.join();
}

TEST_CASE("sqlite: a file begins whole, and what is there stays") {
  const test::TempDir dir;
  const auto path = dir.path() + "/one.db";
  const OpenOptions options{.begin_with
                            = "PRAGMA user_version=7; CREATE TABLE t(x); INSERT INTO t VALUES(5);"};
  {
    auto database = Database::open(path, options).value();
    auto read = database.prepare("SELECT x, (SELECT user_version FROM pragma_user_version) FROM t")
                    .value();
    REQUIRE(read.step("reading").value());
    CHECK(read.number(0) == 5);
    CHECK(read.number(1) == 7);
    auto mode = database.prepare("PRAGMA journal_mode").value();
    REQUIRE(mode.step("reading").value());
    CHECK(mode.text(0) == "wal");
    CHECK(database.check_structure());
    REQUIRE(database.run("UPDATE t SET x=6"));
  }
  CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms::all)
        == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  CHECK_FALSE(std::filesystem::exists(path + ".new"));
  auto again = Database::open(path, options).value();
  auto read = again.prepare("SELECT x FROM t").value();
  REQUIRE(read.step("reading").value());
  CHECK(read.number(0) == 6);
}

TEST_CASE("sqlite: a file whose beginning failed begins again, and never takes another's log") {
  const test::TempDir dir;
  const auto path = dir.path() + "/one.db";
  const auto put = [&](const std::string& name, std::string_view text) {
    std::ofstream{dir.path() + name} << text;
  };
  const auto count_tables = [&] {
    auto database = Database::open(path, {.begin_with = "CREATE TABLE t(x)"}).value();
    auto count = database.prepare("SELECT count(*) FROM sqlite_schema").value();
    CHECK(count.step("counting").value());
    return count.number(0);
  };
  put("/one.db", "");
  put("/one.db.new", "half a file");
  CHECK(count_tables() == 1);

  std::filesystem::remove(path);  // Its -wal is still there: SQLite begins the file.
  put("/one.db-wal", "of another file");
  CHECK(count_tables() == 0);

  const auto nowhere
      = Database::open(dir.path() + "/none/one.db", {.begin_with = "CREATE TABLE t(x)"});
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().what.find("/none/one.db") != std::string::npos);
  const auto wrong = Database::open(dir.path() + "/two.db", {.begin_with = "CREATE TABEL t(x)"});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().what.find("CREATE TABEL") != std::string::npos);
}

TEST_CASE("sqlite: a file without syncs asks for none from its beginning on") {
  const test::TempDir dir;
  test::FaultVfs disk;
  const auto syncs_of = [&](const std::string& name, bool wanted) {
    const auto before = disk.syncs();
    auto database
        = Database::open(dir.file(name), {.syncs = wanted, .vfs = test::FaultVfs::name()}).value();
    CHECK(database.run("CREATE TABLE t(x); INSERT INTO t VALUES(5);"));
    CHECK(database.checkpoint(false));
    return disk.syncs() - before;
  };
  CHECK(syncs_of("with.db", true) > 2);
  CHECK(syncs_of("without.db", false) == 0);
}
