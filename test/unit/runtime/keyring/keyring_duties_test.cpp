// What the leader finds to do for root keys.
#include "runtime/keyring/keyring_duties.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "runtime/cluster/variable_commands.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/state/store.hpp"

using namespace nomad;
using namespace nomad::keyring;
using schema::RootKeyState;

namespace {

struct VariableCluster {
  state::Store store;
  std::uint64_t index = 10;

  void run(const Object<schema::Command>& command) {
    const auto outcome = store.apply(++index, *command);
    REQUIRE_FALSE(outcome.error);
    store.publish();
  }

  void put_key(std::string_view id, RootKeyState state, std::int64_t created, bool rekey = false) {
    Draft<schema::RootKey> key;
    key->setKeyId(text(id));
    key->setState(state);
    key->setCreateTime(created);
    run(cluster::put_root_key(key.freeze(), rekey));
  }

  void put_variable(std::string_view path, std::string_view key) {
    Draft<schema::Variable> variable;
    variable->setNamespace("default");
    variable->setPath(text(path));
    variable->setKeyId(text(key));
    run(cluster::set_variable(variable.freeze(), std::nullopt));
  }

  void put_token(std::string_view accessor, std::string_view key) {
    Draft<schema::Command> command;
    auto upsert = command->initAclTokenUpsert();
    upsert.setIsNew(true);
    upsert.initToken().setAccessorId(text(accessor));
    upsert.getToken().setSecretHash(
        {reinterpret_cast<const unsigned char*>(accessor.data()), accessor.size()});
    upsert.getToken().setKeyId(text(key));
    run(command.freeze());
  }

  KeyringDuties duties(std::int64_t now) const {
    return keyring_duties(store.snapshot(),
                          {.rotation = 1000, .retention = 100, .rekeyed_at_once = 2}, now);
  }
};

constexpr std::int64_t longest_ttl = 720LL * 3600 * 1'000'000'000;

}  // namespace

TEST_CASE("keyring duties: the first key, and one that is too old") {
  VariableCluster cluster;
  CHECK(cluster.duties(0).make_key);
  cluster.put_key("k1", RootKeyState::ACTIVE, 50);

  CHECK_FALSE(cluster.duties(1050).make_key);
  CHECK(cluster.duties(1051).make_key);
}

TEST_CASE("keyring duties: an inactive key goes when it is old and nothing uses it") {
  VariableCluster cluster;
  cluster.put_key("k1", RootKeyState::ACTIVE, 0);
  cluster.put_variable("a", "k1");
  cluster.put_key("k2", RootKeyState::ACTIVE, 0);

  CHECK(cluster.duties(500).remove.empty());
  cluster.put_variable("a", "k2");
  CHECK(cluster.duties(100).remove.empty());
  CHECK(cluster.duties(longest_ttl).remove == std::vector<std::string>{"k1"});
}

TEST_CASE("keyring duties: rekeying goes on in portions, then the key retires") {
  VariableCluster cluster;
  cluster.put_key("k1", RootKeyState::ACTIVE, 0);
  for (const auto* path : {"a", "b", "c"})
    cluster.put_variable(path, "k1");
  cluster.put_key("k2", RootKeyState::ACTIVE, 0, true);

  CHECK(cluster.duties(1).rekey.size() == 2);
  CHECK(cluster.duties(1).retire.empty());
  for (const auto* path : {"a", "b", "c"})
    cluster.put_variable(path, "k2");

  CHECK(cluster.duties(1).rekey.empty());
  REQUIRE(cluster.duties(1).retire.size() == 1);
  CHECK(view(cluster.duties(1).retire[0]->getKeyId()) == "k1");
}

TEST_CASE("keyring duties: secrets of access control are sealed anew, and keep their key") {
  VariableCluster cluster;
  cluster.put_key("k1", RootKeyState::ACTIVE, 0);
  for (const auto* accessor : {"a", "b", "c"})
    cluster.put_token(accessor, "k1");
  Draft<schema::Command> method;
  method->initAclAuthMethodUpsert().setName("m");
  method->getAclAuthMethodUpsert().setKeyId("k1");
  cluster.run(method.freeze());
  cluster.put_key("k2", RootKeyState::ACTIVE, 0, true);

  CHECK(cluster.duties(1).rekey_tokens.size() == 2);
  CHECK(cluster.duties(1).rekey_methods.size() == 1);
  CHECK(cluster.duties(1).retire.empty());
}

TEST_CASE("keyring duties: a key that nobody can open holds up no other") {
  VariableCluster cluster;
  for (const std::string key : {"k1", "k2"}) {
    cluster.put_key(key, RootKeyState::ACTIVE, 0, true);
    for (const auto* name : {"a", "b", "c"}) {
      cluster.put_variable(name + key, key);
      cluster.put_token(name + key, key);
    }
  }
  cluster.put_key("k3", RootKeyState::ACTIVE, 0, true);

  const auto duties = cluster.duties(1);
  const auto of = [](const auto& rows, std::string_view key) {
    return std::ranges::count_if(rows,
                                 [key](const auto& row) { return view(row->getKeyId()) == key; });
  };
  for (const auto* key : {"k1", "k2"}) {
    CAPTURE(key);
    CHECK(of(duties.rekey, key) == 2);
    CHECK(of(duties.rekey_tokens, key) == 2);
  }
}

TEST_CASE("keyring duties: the next key is known for a while before it signs") {
  VariableCluster cluster;
  const auto duties = [&](std::int64_t now) {
    return keyring_duties(cluster.store.snapshot(), {.rotation = 1000, .prepublish = 100}, now);
  };
  cluster.put_key("k1", RootKeyState::ACTIVE, 1);
  CHECK_FALSE(duties(901).publish_key);
  CHECK(duties(902).publish_key);
  CHECK_FALSE(duties(902).make_key);
  CHECK(duties(1002).make_key);  // nobody was there to publish one
  CHECK_FALSE(duties(1002).publish_key);

  Draft<schema::RootKey> next;
  next->setKeyId("k2");
  next->setState(RootKeyState::PREPUBLISHED);
  next->setCreateTime(902);
  next->setPublishTime(1002);
  cluster.run(cluster::put_root_key(next.freeze(), false));
  CHECK(view(cluster.store.snapshot().active_root_key()->getKeyId()) == "k1");
  CHECK_FALSE(duties(1001).publish_key);
  CHECK_FALSE(duties(1001).make_key);
  CHECK(duties(1001).activate.empty());
  REQUIRE(duties(1002).activate.size() == 1);
  CHECK_FALSE(duties(1002).make_key);

  Draft<schema::RootKey> active{duties(1002).activate[0]};
  active->setState(RootKeyState::ACTIVE);
  cluster.run(cluster::change_root_key(active.freeze()));
  CHECK(view(cluster.store.snapshot().active_root_key()->getKeyId()) == "k2");
  CHECK(cluster.store.snapshot().root_key("k1")->getState() == RootKeyState::INACTIVE);
  CHECK_FALSE(duties(1900).publish_key);  // it is as old as it has signed
}

TEST_CASE("keyring duties: a published key stays so while others take over") {
  VariableCluster cluster;
  cluster.put_key("k1", RootKeyState::ACTIVE, 0);
  cluster.put_key("k2", RootKeyState::PREPUBLISHED, 0);
  cluster.put_key("k3", RootKeyState::ACTIVE, 0, true);

  CHECK(cluster.store.snapshot().root_key("k2")->getState() == RootKeyState::PREPUBLISHED);
  CHECK(cluster.store.snapshot().root_key("k1")->getState() == RootKeyState::REKEYING);
}

TEST_CASE("keyring duties: a key stays as long as something may be verified by it") {
  VariableCluster cluster;
  cluster.put_key("k1", RootKeyState::ACTIVE, 0);
  cluster.put_key("k2", RootKeyState::ACTIVE, 1000);

  // Whatever jobs there are now: one with a longer identity may have gone.
  CHECK(cluster.duties(1000 + longest_ttl - 1).remove.empty());
  CHECK(cluster.duties(1000 + longest_ttl).remove == std::vector<std::string>{"k1"});
}

TEST_CASE("keyring duties: the key of an allocation stays until it has ended") {
  VariableCluster cluster;
  cluster.put_key("k1", RootKeyState::ACTIVE, 0);  // at index 11
  Draft<schema::Command> job;
  job->initJobRegister().initJob().setId("web");
  job->getJobRegister().getJob().setNamespace("default");
  cluster.run(job.freeze());
  Draft<schema::Command> placed;
  auto plan = placed->initPlanResults().initPlans(1)[0];
  plan.setIdentityKey(11);
  auto alloc = plan.initPlaced(1)[0];
  alloc.setId("a");
  alloc.setNamespace("default");
  alloc.setJobId("web");
  alloc.setJobCreateIndex(12);
  cluster.run(placed.freeze());
  cluster.put_key("k2", RootKeyState::ACTIVE, 1000);
  CHECK(cluster.duties(9000).remove.empty());
  CHECK(cluster.store.apply(++cluster.index, *cluster::delete_root_key("k1")).error.has_value());

  Draft<schema::Command> reap;
  reap->initReap().initAllocationIds(1).set(0, "a");
  cluster.run(reap.freeze());
  CHECK(cluster.duties(1000 + longest_ttl).remove == std::vector<std::string>{"k1"});
}
