// actors/client/tools/client_db.hpp: who is answered when, as long as the disk is full. What is
// saved, and what is made of it at a start, is in restore_test.
#include "actors/client/tools/client_db.hpp"

#include <filesystem>

#include <doctest/doctest.h>
#include <sqlite3.h>

#include "test/support/actor_fixture.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/runtime/storage/fault_vfs.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using client::client_db::Committed;
using client::client_db::Save;

namespace {

struct DbFixture : test::ActorFixture {
  test::FaultVfs disk;
  test::TempDir dir;
  std::shared_ptr<storage::ClientStore> store;
  client::ClientDb db;

  DbFixture() {
    auto* usual = sqlite3_vfs_find(nullptr);
    sqlite3_vfs_register(sqlite3_vfs_find(test::FaultVfs::name().c_str()), 1);
    auto opened = storage::ClientStore::open(dir.file("state.db"));
    sqlite3_vfs_register(usual, 1);
    REQUIRE(opened.has_value());
    store = std::make_shared<storage::ClientStore>(std::move(*opened));
    db = adopt(client::spawn_client_db_inline(system(), store));
  }

  ~DbFixture() {
    actor::kill(db);
    settle();
  }

  static storage::ClientBatch health_of(const std::string& alloc_id) {
    storage::ClientBatch batch;
    client::client_db::put_health(batch, alloc_id,
                                  workload::HealthStatus{.healthy = true, .timestamp = 1});
    return batch;
  }

  bool is_saved(const std::string& alloc_id) {
    const auto row = store->get(storage::Bucket::deployment, alloc_id);
    return row && row->has_value();
  }
};

}  // namespace

TEST_CASE_FIXTURE(DbFixture, "client db: what finds the disk full is saved when there is room") {
  disk.fail_writes_after(0, test::DiskFault::disk_full);
  const auto first = ask<Committed>(db, Save{health_of("first")});
  tell(db, client::client_db::SaveLater{health_of("second")});
  advance(30s);
  CHECK_FALSE(first->has_value());

  disk.heal();
  advance(1s);
  REQUIRE(first->has_value());
  CHECK((*first)->has_value());
  CHECK(is_saved("first"));
  CHECK(is_saved("second"));
}

TEST_CASE_FIXTURE(DbFixture, "client db: who saves nothing does not wait for room") {
  tell(db, client::client_db::SaveLater{health_of("first")});
  const auto saved = ask<Committed>(db, Save{});
  REQUIRE(saved->has_value());
  CHECK((*saved)->has_value());

  disk.fail_writes_after(0, test::DiskFault::disk_full);
  tell(db, client::client_db::SaveLater{health_of("second")});
  const auto full = ask<Committed>(db, Save{});
  advance(1s);
  REQUIRE(full->has_value());
  CHECK((*full)->error().code == Errc::overloaded);
}

TEST_CASE_FIXTURE(DbFixture, "client db: the node's id is where one of two places has it") {
  using namespace client::client_db;
  const auto file = dir.file("identity");
  const auto open = [&](const std::shared_ptr<storage::ClientStore>& over) {
    return adopt(client::spawn_client_db_inline(system(), over, file));
  };
  const auto other_store = [&](const std::string& name) {
    auto opened = storage::ClientStore::open(dir.file(name));
    REQUIRE(opened.has_value());
    return std::make_shared<storage::ClientStore>(std::move(*opened));
  };
  const auto id_in = [&](const client::ClientDb& from) {
    const auto loaded = ask<Loaded>(from, Load{});
    settle();
    REQUIRE((loaded->has_value() && (*loaded)->has_value()));
    return (**loaded)->node_id + " " + (**loaded)->secret_id;
  };
  auto saved = open(store);
  CHECK(id_in(saved) == " ");
  const auto done = ask<Committed>(saved, SaveIdentity{"id", "secret"});
  settle();
  CHECK((done->has_value() && (*done)->has_value()));
  const auto successor = other_store("new.db");
  CHECK(id_in(open(successor)) == "id secret");  // The database is lost,
  std::filesystem::resize_file(file, 10);
  CHECK(id_in(open(successor)) == "id secret");  // and its successor knows it from then on,
  std::filesystem::resize_file(file, 10);
  CHECK(id_in(open(other_store("newer.db"))) == " ");  // both are,
  CHECK(id_in(saved) == "id secret");                  // the file is, and is written again.
  CHECK(id_in(open(other_store("newest.db"))) == "id secret");
}

TEST_CASE_FIXTURE(DbFixture, "client db: an end commits what waits") {
  disk.fail_writes_after(0, test::DiskFault::disk_full);
  tell(db, client::client_db::SaveLater{health_of("first")});
  disk.heal();
  actor::stop(db);
  settle();
  CHECK(is_saved("first"));
}
