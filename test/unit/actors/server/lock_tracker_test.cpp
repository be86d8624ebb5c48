// The lock tracker: a lock that is not renewed is lifted, one that is renewed stays, and a new
// leader gives all of them their whole time again.
#include "actors/server/lock_tracker.hpp"

#include "runtime/cluster/variables/lock_commands.hpp"
#include "server_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace std::chrono_literals;

namespace {

struct Locks : test::ServerFixture {
  std::shared_ptr<raft::LeaderLease> lease = std::make_shared<raft::LeaderLease>();
  LockTracker tracker = adopt(spawn_lock_tracker(system(), store, proposer, lease));

  Locks() {
    lease->set(raft::LeaderLease::unlimited);
    write([](schema::Command::Builder command) {
      auto key = command.initRootKeyUpsert().initKey();
      key.setKeyId("k1");
      key.setState(schema::RootKeyState::ACTIVE);
    });
  }

  /// Nobody is told.
  void lock(std::string_view path, std::string_view id) {
    write([&](schema::Command::Builder command) {
      auto variable = command.initVariableLocking().initVariable();
      variable.setNamespace("default");
      variable.setPath(text(path));
      variable.setKeyId("k1");
      auto lock = variable.initLock();
      lock.setId(text(id));
      lock.setTtl(std::chrono::nanoseconds{10s}.count());
      lock.setLockDelay(std::chrono::nanoseconds{5s}.count());
    });
  }

  void take(std::string_view path, std::string_view id) {
    lock(path, id);
    tell(tracker, LocksChanged{{key_of(path)}});
    commit();
  }

  /// Its holder does.
  void write_as(std::string_view path, std::string_view id) {
    write([&](schema::Command::Builder command) {
      auto apply = command.initVariableApply();
      apply.setLockId(text(id));
      auto variable = apply.initVariable();
      variable.setNamespace("default");
      variable.setPath(text(path));
      variable.setKeyId("k1");
    });
  }

  static std::string key_of(std::string_view path) { return state::join_key("default", path); }

  void pass(std::chrono::nanoseconds time) {
    advance(time);
    commit();
  }

  bool is_locked(std::string_view path) const {
    return state().variable("default", path)->hasLock();
  }

  std::string renew(std::string_view path, std::string_view id) {
    const auto answer = ask<LockRenewed>(tracker, RenewLock{key_of(path), std::string{id}});
    REQUIRE(answer->has_value());
    return **answer ? "" : (*answer)->error().what;
  }

  void lead(bool leads = true) {
    tell(tracker, Lead{leads});
    commit();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Locks, "lock tracker: a lock that is not renewed is lifted after its delay") {
  lead();
  take("a", "id-a");

  pass(24s);
  CHECK(is_locked("a"));
  pass(2s);

  CHECK_FALSE(is_locked("a"));
}

TEST_CASE_FIXTURE(Locks, "lock tracker: a renewed lock stays, and only its holder renews it") {
  lead();
  take("a", "id-a");
  for (int i = 0; i < 5; ++i) {
    pass(15s);
    CHECK(renew("a", "id-a").empty());
  }
  CHECK(renew("a", "id-b") == "attempting to modify locked variable");

  CHECK(is_locked("a"));
  pass(21s);
  CHECK(renew("a", "id-a") == "the lock is lost: it was not renewed within its TTL");
}

TEST_CASE_FIXTURE(Locks, "lock tracker: a new leader gives locks their whole time") {
  lock("a", "id-a");
  pass(100s);
  CHECK(is_locked("a"));
  CHECK(renew("a", "id-a") == "No cluster leader");

  lead();
  pass(24s);
  CHECK(is_locked("a"));
  pass(2s);
  CHECK_FALSE(is_locked("a"));
}

TEST_CASE_FIXTURE(Locks, "lock tracker: who leads no more lifts and renews nothing") {
  lead();
  take("a", "id-a");
  lead(false);

  pass(100s);

  CHECK(is_locked("a"));
  lead();
  lease->set(0);
  CHECK(renew("a", "id-a") == "No cluster leader");
}

TEST_CASE_FIXTURE(Locks, "lock tracker: the lock that came after a released one is left alone") {
  lead();
  take("a", "id-a");
  pass(15s);
  const auto release = cluster::release_lock("default", "a", "id-a", 1);
  write([&](schema::Command::Builder command) {
    command.setVariableLocking(release->getVariableLocking());
  });
  take("a", "id-b");

  pass(19s);

  CHECK(is_locked("a"));
  CHECK(renew("a", "id-b").empty());
}

TEST_CASE_FIXTURE(Locks, "lock tracker: a lock that was taken again under its id is not lifted") {
  lead();
  take("a", "id-a");
  pass(24s);
  lock("a", "id-a");  // Its holder is back; the tracker has not been told yet.
  pass(2s);
  CHECK(is_locked("a"));

  tell(tracker, LocksChanged{{key_of("a")}});
  pass(19s);
  CHECK(is_locked("a"));
  CHECK(renew("a", "id-a").empty());
  pass(26s);
  CHECK_FALSE(is_locked("a"));
}

TEST_CASE_FIXTURE(Locks, "lock tracker: what its holder writes keeps no lock from being lifted") {
  lead();
  take("a", "id-a");
  pass(15s);
  write_as("a", "id-a");
  const auto index = state().variable("default", "a")->getModifyIndex();
  tell(tracker, LocksChanged{{}, {{key_of("a"), "id-a", index}}});

  pass(11s);

  CHECK_FALSE(is_locked("a"));
}

TEST_CASE_FIXTURE(Locks, "lock tracker: one release is on its way, and is tried again") {
  lead();
  take("a", "id-a");
  advance(60s);
  CHECK(refuse() == 1);

  advance(9s);
  CHECK(refuse() == 0);
  pass(2s);
  CHECK_FALSE(is_locked("a"));
}
