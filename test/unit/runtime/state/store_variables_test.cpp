// Variables and root keys: check-and-set, who takes over from whom, and what a restore brings back.
#include "fixture.hpp"

using namespace nomad;
using namespace nomad::state;
using schema::RootKeyState;
using schema::VariableOperation;

namespace {

struct Variables : StateFixture {
  Variables() { put_key("k1", RootKeyState::ACTIVE); }

  Outcome put_key(std::string_view id, RootKeyState key_state, bool rekey = false) {
    return run([&](auto command) {
      auto upsert = command.initRootKeyUpsert();
      upsert.setRekey(rekey);
      auto key = upsert.initKey();
      key.setKeyId(text(id));
      key.setState(key_state);
      key.setCreateTime(static_cast<std::int64_t>(index));
    });
  }

  Outcome delete_key(std::string_view id) {
    return run([&](auto command) { command.setRootKeyDelete(text(id)); });
  }

  Outcome apply(VariableOperation operation,
                std::uint64_t check = 0,
                std::string_view path = "app/db",
                std::string_view key = "k1",
                std::string_view ns = "default") {
    return run([&](auto command) {
      auto apply = command.initVariableApply();
      apply.setOperation(operation);
      apply.setCheckIndex(check);
      auto variable = apply.initVariable();
      variable.setNamespace(text(ns));
      variable.setPath(text(path));
      variable.setModifyTime(static_cast<std::int64_t>(index) * 1000);
      variable.setKeyId(text(key));
      variable.setData({reinterpret_cast<const unsigned char*>("sealed"), 6});
    });
  }

  Object<schema::Variable> stored(std::string_view path = "app/db") const {
    return now().variable("default", path);
  }

  RootKeyState state_of(std::string_view key) const { return now().root_key(key)->getState(); }
};

}  // namespace

TEST_CASE("variables: a write keeps when it was created") {
  Variables state;

  const auto first = state.apply(VariableOperation::SET);
  const auto second = state.apply(VariableOperation::SET);

  REQUIRE_FALSE(first.error);
  CHECK(first.variable->getCreateIndex() == first.index);
  CHECK(second.variable->getCreateIndex() == first.index);
  CHECK(second.variable->getModifyIndex() == second.index);
  CHECK(second.variable->getCreateTime() == first.variable->getModifyTime());
  CHECK(state.stored().equals(second.variable));
  CHECK(state.now().index(Table::variables) == second.index);
}

TEST_CASE("variables: check-and-set writes only what was seen") {
  Variables state;
  const auto absent = state.apply(VariableOperation::CHECK_AND_SET, 3);
  const auto created = state.apply(VariableOperation::CHECK_AND_SET, 0);
  const auto again = state.apply(VariableOperation::CHECK_AND_SET, 0);
  const auto stale = state.apply(VariableOperation::CHECK_AND_SET, created.index - 1);
  const auto right = state.apply(VariableOperation::CHECK_AND_SET, created.index);

  CHECK(absent.error->code == Errc::conflict);
  CHECK(absent.variable->getModifyIndex() == 0);
  CHECK(view(absent.variable->getPath()) == "app/db");
  CHECK_FALSE(created.error);
  for (const auto* lost : {&again, &stale}) {
    CHECK(lost->error->code == Errc::conflict);
    CHECK(lost->variable->getModifyIndex() == created.index);
  }
  CHECK_FALSE(right.error);
  CHECK(state.stored()->getModifyIndex() == right.index);
}

TEST_CASE("variables: check-and-delete deletes only what was seen") {
  Variables state;
  CHECK_FALSE(state.apply(VariableOperation::CHECK_AND_DELETE, 0).error);
  CHECK(state.apply(VariableOperation::CHECK_AND_DELETE, 3).error->code == Errc::conflict);
  CHECK_FALSE(state.apply(VariableOperation::DELETE).error);
  const auto put = state.apply(VariableOperation::SET);

  CHECK(state.apply(VariableOperation::CHECK_AND_DELETE, 0).error->code == Errc::conflict);
  CHECK(state.apply(VariableOperation::CHECK_AND_DELETE, put.index + 1).error);
  REQUIRE(state.stored());
  const auto deleted = state.apply(VariableOperation::CHECK_AND_DELETE, put.index);

  CHECK_FALSE(deleted.error);
  CHECK_FALSE(deleted.variable);
  CHECK_FALSE(state.stored());
  CHECK_FALSE(state.now().root_key_in_use("k1"));
}

TEST_CASE("variables: one that cannot be read later is not written") {
  Variables state;

  CHECK(state.apply(VariableOperation::SET, 0, "a", "unknown-key").error->code
        == Errc::unavailable);
  CHECK(state.now().tables().variables.empty());
}

TEST_CASE("variables: may be in a namespace that nobody has made") {
  Variables state;

  CHECK_FALSE(state.apply(VariableOperation::SET, 0, "a", "k1", "no-such-namespace").error);
}

TEST_CASE("variables: keep their namespace from being deleted") {
  Variables state;
  state.run([](auto command) { command.initNamespaceUpsert().setName("team"); });
  REQUIRE_FALSE(state.apply(VariableOperation::SET, 0, "a", "k1", "team").error);

  const auto refused = state.run([](auto command) { command.setNamespaceDelete("team"); });
  REQUIRE_FALSE(state.apply(VariableOperation::DELETE, 0, "a", "k1", "team").error);
  const auto deleted = state.run([](auto command) { command.setNamespaceDelete("team"); });

  REQUIRE(refused.error);
  CHECK(refused.error->what.find("contains at least one variable") != std::string::npos);
  CHECK_FALSE(deleted.error);
}

TEST_CASE("root keys: exactly one is active") {
  Variables state;

  state.put_key("k2", RootKeyState::ACTIVE);
  CHECK(state.state_of("k1") == RootKeyState::INACTIVE);
  CHECK(state.state_of("k2") == RootKeyState::ACTIVE);
  state.put_key("k3", RootKeyState::ACTIVE, true);
  CHECK(state.state_of("k1") == RootKeyState::REKEYING);
  CHECK(state.state_of("k2") == RootKeyState::REKEYING);
  state.put_key("k4", RootKeyState::ACTIVE);
  CHECK(state.state_of("k1") == RootKeyState::REKEYING);
  CHECK(state.state_of("k3") == RootKeyState::INACTIVE);
  CHECK(view(state.now().active_root_key()->getKeyId()) == "k4");

  CHECK(state.put_key("k5", RootKeyState::INACTIVE, true).error);
  CHECK(state.put_key("k4", RootKeyState::INACTIVE).error);
  CHECK(view(state.now().active_root_key()->getKeyId()) == "k4");
}

TEST_CASE("root keys: a change of one that was changed since is refused") {
  Variables state;
  const auto change = [&state](std::uint64_t from) {
    return state.run([&](auto command) {
      auto upsert = command.initRootKeyUpsert();
      upsert.setCheckIndex(from);
      auto key = upsert.initKey();
      key.setKeyId("k1");
      key.setState(RootKeyState::ACTIVE);
      key.initWraps(1)[0].setRecipient("somebody");
    });
  };
  const auto first = state.now().root_key("k1")->getModifyIndex();

  CHECK_FALSE(change(first).error);
  CHECK(change(first).error->code == Errc::conflict);

  const auto stored = state.now().root_key("k1");
  CHECK(stored->getWraps().size() == 1);
  CHECK(stored->getModifyIndex() > first);
}

TEST_CASE("root keys: the active one and those in use stay") {
  Variables state;
  state.apply(VariableOperation::SET);
  CHECK(state.delete_key("k1").error->what
        == "active root key cannot be deleted - call rotate first");
  state.put_key("k2", RootKeyState::ACTIVE);

  CHECK(state.delete_key("k1").error);
  state.apply(VariableOperation::SET, 0, "app/db", "k2");
  CHECK_FALSE(state.now().root_key_in_use("k1"));
  CHECK_FALSE(state.delete_key("k1").error);
  CHECK(state.delete_key("k1").error->what == "root key metadata not found");
}

TEST_CASE("variables: a restore brings them back with what derives from them") {
  Variables state;
  state.apply(VariableOperation::SET);
  state.run([](auto command) { command.initKeyHolderUpsert().setId("server-1"); });

  Store restored;
  REQUIRE(restore_into(restored, state.now()).has_value());

  CHECK(restored.snapshot().variable("default", "app/db").equals(state.stored()));
  CHECK(restored.snapshot().root_key_in_use("k1"));
  CHECK(restored.snapshot().key_holder("server-1"));
  CHECK(describe(restored.snapshot()) == describe(state.now()));
}
