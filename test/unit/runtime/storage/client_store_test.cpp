// runtime/storage/client_store: batches are all or nothing, and a store that lost any is refused.
#include "runtime/storage/client_store.hpp"

#include <filesystem>
#include <fstream>
#include <future>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <sqlite3.h>

#include "runtime/storage/data_dir_lock.hpp"
#include "runtime/storage/mark_file.hpp"
#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/runtime/storage/damage.hpp"
#include "test/unit/runtime/storage/run_sql.hpp"

using namespace nomad;
using storage::Bucket;
using storage::ClientBatch;
using storage::ClientStore;

namespace {

struct StoreFixture {
  test::TempDir dir;
  std::string path = dir.file("client.db");

  ClientStore open() { return std::move(ClientStore::open(path).value()); }
};

std::vector<std::string> keys(ClientStore& store, Bucket bucket, std::string_view prefix) {
  std::vector<std::string> found;
  CHECK(store.scan(
      bucket, prefix, [&found](std::string_view key, Result<std::string_view> value) -> Result<> {
        found.push_back(std::string{key} + (value ? "=" + std::string{*value} : " damaged"));
        return {};
      }));
  return found;
}

/// Opens what is there, which is damaged.
void check_damaged(const std::string& path, std::string_view why) {
  const auto outcome = ClientStore::open(path);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == Errc::corrupt);
  CHECK(outcome.error().what.find(why) != std::string::npos);
  CHECK(outcome.error().what.starts_with("\"" + path + "\" (with \"" + path + "-wal\" and \"" + path
                                         + ".mark\") is damaged: "));
  CHECK(
      outcome.error().what.ends_with(". Nothing was changed. Move these files away and start the "
                                     "agent again: what it has to run "
                                     "is known to the servers, what runs here to the executors"));
}

}  // namespace

TEST_CASE_FIXTURE(StoreFixture, "client_store: buckets are apart, keys ordered, values durable") {
  {
    auto store = open();
    ClientBatch batch;
    batch.put(Bucket::task_state, "b/web", "2");
    batch.put(Bucket::task_state, "a/web", "1");
    batch.put(Bucket::task_state, "a/db", "0");
    batch.put(Bucket::alloc, "a", std::string("\0raw\xff", 5));
    REQUIRE(store.commit(batch));
  }

  auto store = open();
  CHECK(store.get(Bucket::alloc, "a").value() == std::string("\0raw\xff", 5));
  CHECK_FALSE(store.get(Bucket::driver_handle, "a").value().has_value());
  CHECK(keys(store, Bucket::task_state, "")
        == std::vector<std::string>{"a/db=0", "a/web=1", "b/web=2"});
  CHECK(keys(store, Bucket::task_state, "a/") == std::vector<std::string>{"a/db=0", "a/web=1"});
}

TEST_CASE_FIXTURE(StoreFixture, "client_store: erasing by key and prefix, and replacing") {
  auto store = open();
  ClientBatch batch;
  for (const char* key : {"a/1", "a/2", "b/1", "\xff\xff", "\xff"})
    batch.put(Bucket::task_state, key, "x");
  REQUIRE(store.commit(batch));

  ClientBatch change;
  change.erase_prefix(Bucket::task_state, "a/");
  change.erase_prefix(Bucket::task_state, "\xff");
  change.put(Bucket::task_state, "b/1", "y");
  change.erase(Bucket::task_state, "not there");
  REQUIRE(store.commit(change));

  CHECK(keys(store, Bucket::task_state, "") == std::vector<std::string>{"b/1=y"});
}

TEST_CASE_FIXTURE(StoreFixture,
                  "client_store: what is overwritten in a batch need not be written") {
  ClientBatch batch;
  for (const char* value : {"1", "2", "3"}) {
    batch.put(Bucket::alloc, "a", value);
    batch.put(Bucket::task_state, "a/web", value);
    batch.put(Bucket::task_state, "b/web", value);
  }
  batch.erase_prefix(Bucket::task_state, "a/");
  batch.put(Bucket::task_state, "a/db", "4");
  batch.erase(Bucket::task_state, "b/web");
  auto store = open();
  auto all = batch;
  batch.drop_overwritten();
  CHECK(batch.size() == 4);
  for (const auto& one : {all, batch}) {
    REQUIRE(store.commit(one));
    CHECK(keys(store, Bucket::alloc, "") == std::vector<std::string>{"a=3"});
    CHECK(keys(store, Bucket::task_state, "") == std::vector<std::string>{"a/db=4"});
  }
}

TEST_CASE_FIXTURE(StoreFixture, "client_store: what has lost anything is refused") {
  {
    auto store = open();
    ClientBatch batch;
    for (const char* key : {"a", "b", "c"})
      batch.put(Bucket::alloc, key, "good");
    REQUIRE(store.commit(batch));
    ClientBatch change;
    change.erase(Bucket::alloc, "c");
    change.put(Bucket::alloc, "a", "better");
    REQUIRE(store.commit(change));
  }
  const auto refused = [&](std::string_view why) { check_damaged(path, why); };
  {
    auto store = open();
    CHECK(keys(store, Bucket::alloc, "") == std::vector<std::string>{"a=better", "b=good"});
  }

  SUBCASE("a row is another") {
    test::run_sql(path, "UPDATE client SET value = 'bad' WHERE key = x'62'");
    refused("bucket 2, key \"b\": checksum does not match");
  }
  SUBCASE("a row is missing") {
    test::run_sql(path, "DELETE FROM client WHERE key = x'62'");
    refused("rows are missing, or are there that were erased");
  }
  SUBCASE("all rows are missing") {
    test::run_sql(path, "DELETE FROM client");
    refused("its totals are missing");
  }
  SUBCASE("its last commit is missing") {
    test::fold_wal(path);
    std::filesystem::copy(path, path + ".old");
    {
      auto store = open();
      ClientBatch batch;
      batch.put(Bucket::alloc, "d", "new");
      REQUIRE(store.commit(batch));
    }
    test::fold_wal(path);
    std::filesystem::rename(path + ".old", path);
    refused("it ends at commit 3, but there were 4");
  }
  SUBCASE("its file has no bytes, all is in the write-ahead log") {
    std::filesystem::resize_file(path, 0);
    const auto log = test::read_file(path + "-wal");
    CHECK(log.size() > 4'096);
    refused("it is empty");
    CHECK(test::read_file(path + "-wal") == log);
  }
  SUBCASE("its totals are of another size") {
    test::run_sql(path, "UPDATE client SET value = x'00' WHERE bucket = 0");
    refused("checksum does not match");
  }
  SUBCASE("its mark is missing") {
    std::filesystem::remove(path + ".mark");
    refused("its mark is missing");
  }
  SUBCASE("its mark is of another size") {
    REQUIRE(storage::MarkFile::open(path + ".mark").value().write("short", true));
    refused("totals of 5 bytes");
  }
}

TEST_CASE_FIXTURE(StoreFixture, "client_store: one of another history than its mark is refused") {
  const auto commit = [&](const char* value) {
    auto store = open();
    ClientBatch batch;
    batch.put(Bucket::alloc, "a", value);
    REQUIRE(store.commit(batch));
  };
  commit("one");
  const auto mark = test::read_file(path + ".mark");
  for (const char* end : {"", "-wal", "-shm", ".mark"})
    std::filesystem::remove(path + end);
  commit("another");
  test::write_file(path + ".mark", mark);
  const auto outcome = ClientStore::open(path);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().what.find("it is another one than its mark tells of") != std::string::npos);
}

TEST_CASE_FIXTURE(StoreFixture, "client_store: one of an earlier version is taken over") {
  {
    auto store = open();
    ClientBatch batch;
    batch.put(Bucket::alloc, "a", "good");
    REQUIRE(store.commit(batch));
  }
  std::filesystem::remove(path + ".mark");
  test::run_sql(path, "DELETE FROM client WHERE bucket = 0; PRAGMA user_version=1");
  {
    auto store = open();
    CHECK(keys(store, Bucket::alloc, "") == std::vector<std::string>{"a=good"});
  }
  test::run_sql(path, "DELETE FROM client WHERE bucket = 2");
  CHECK_FALSE(ClientStore::open(path));
}

TEST_CASE_FIXTURE(StoreFixture, "client_store: a file that is no client state is refused") {
  std::ofstream{path} << std::string(5'000, 'z');
  const auto outcome = ClientStore::open(path);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == Errc::corrupt);
  CHECK(outcome.error().what.find(path) != std::string::npos);
}

TEST_CASE("data_dir_lock: a second agent is told who holds the directory") {
  test::TempDir dir;
  const auto data_dir = dir.file("new/data");
  {
    auto first = storage::DataDirLock::take(data_dir);
    REQUIRE(first);
    const auto second = storage::DataDirLock::take(data_dir);
    REQUIRE_FALSE(second);
    CHECK(second.error()
          == Error{Errc::conflict, "data_dir \"" + data_dir + "\" is in use by another agent (pid "
                                       + std::to_string(::getpid()) + ")"});
  }
  CHECK(storage::DataDirLock::take(data_dir));
}

TEST_CASE("data_dir_lock: what a killed agent has left behind is waited for") {
  const test::TempDir dir;
  const std::string data_dir = dir.file("data");
  { const auto first = storage::DataDirLock::take(data_dir); }
  const auto path = data_dir + "/agent.lock";
  const int left = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(left >= 0);
  const auto taken_beside = [&](const std::string& holder) {
    REQUIRE(::flock(left, LOCK_EX) == 0);
    REQUIRE(::ftruncate(left, 0) == 0);
    REQUIRE(::pwrite(left, holder.data(), holder.size(), 0) == static_cast<ssize_t>(holder.size()));
    const int watch = ::inotify_init1(IN_CLOEXEC);
    REQUIRE(::inotify_add_watch(watch, path.c_str(), IN_ACCESS) >= 0);
    auto next = std::async(std::launch::async,
                           [&] { return storage::DataDirLock::take(data_dir).has_value(); });
    // Who holds the lock is read by whom it was refused.
    pollfd entry{watch, POLLIN, 0};
    CHECK(::poll(&entry, 1, 60'000) == 1);
    REQUIRE(::flock(left, LOCK_UN) == 0);
    ::close(watch);
    return next.get();
  };

  SUBCASE("as long as it has the lock") {
    CHECK(taken_beside("1999999999\n"));  // above what Linux gives
  }
  SUBCASE("and nobody who is no process") {
    CHECK_FALSE(taken_beside("2294967297\n"));
    CHECK_FALSE(taken_beside("0\n"));
  }
  ::close(left);
}

TEST_CASE("data_dir_lock: a path that cannot be used is named") {
  test::TempDir dir;
  std::ofstream{dir.file("file")} << "x";
  const auto outcome = storage::DataDirLock::take(dir.file("file/data"));
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().what.find(dir.file("file")) != std::string::npos);
}
