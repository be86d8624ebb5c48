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

  Outcome force_delete_key(std::string_view id) {
    return run([&](auto command) { command.setRootKeyForcedDelete(text(id)); });
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

  CHECK(state.put_key("k5", RootKeyState::INACTIVE, true).error
        == Error{Errc::rejected, "cannot rekey without setting the new key active"});
  CHECK(state.put_key("k4", RootKeyState::INACTIVE).error
        == Error{Errc::rejected, "the active root key stays so until another takes over"});
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
  const auto again = change(first).error;
  const auto gone = state.run([](auto command) {
    auto upsert = command.initRootKeyUpsert();
    upsert.setCheckIndex(7);
    upsert.initKey().setKeyId("k9");
  });

  CHECK(gone.error == Error{Errc::conflict, "the root key was read at index 7 and is gone"});
  const auto stored = state.now().root_key("k1");
  CHECK(stored->getWraps().size() == 1);
  CHECK(stored->getModifyIndex() > first);
  CHECK(again
        == Error{Errc::conflict, "the root key was read at index " + std::to_string(first)
                                     + " and is at " + std::to_string(stored->getModifyIndex())});
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

TEST_CASE("root keys: who is refused a removal hears what the key is for") {
  Variables state;
  const auto first = state.now().root_key("k1")->getCreateIndex();
  for (const auto* path : {"a", "b"})
    state.apply(VariableOperation::SET, 0, path);
  state.register_job({}, {});
  state.place({{.id = "x"}}, [first](auto plan) { plan.setIdentityKey(first); });
  state.put_key("k2", RootKeyState::ACTIVE);

  CHECK(state.delete_key("k1").error->what
        == "root key in use, cannot delete: it has sealed 2 variables, signs the identities of 1 "
           "allocation; rotate with -full seals anew what it has sealed, and -force removes it "
           "with all of that");
  CHECK(state.now().root_key("k1"));
}

TEST_CASE("root keys: of very many variables a part is counted") {
  Variables state;
  for (int i = 0; i < 1001; ++i)
    state.apply(VariableOperation::SET, 0, "a/" + std::to_string(i));
  state.put_key("k2", RootKeyState::ACTIVE);

  CHECK(state.delete_key("k1").error->what.find("it has sealed more than 1000 variables;")
        != std::string::npos);
}

TEST_CASE("root keys: by force one goes with what it has sealed, but never the active one") {
  Variables state;
  state.apply(VariableOperation::SET);
  CHECK(state.force_delete_key("k1").error->what
        == "active root key cannot be deleted - call rotate first");
  state.put_key("k2", RootKeyState::ACTIVE);

  CHECK_FALSE(state.force_delete_key("k1").error);

  CHECK_FALSE(state.now().root_key("k1"));
  CHECK(state.stored());  // it can be put anew or deleted
  CHECK(state.force_delete_key("k1").error->what == "root key metadata not found");
  CHECK_FALSE(state.apply(VariableOperation::SET, 0, "app/db", "k2").error);
  CHECK_FALSE(state.now().root_key_in_use("k1"));
}

TEST_CASE("root keys: a removal by force is nothing for a release before it") {
  Draft<schema::Command> draft;
  draft->setRootKeyForcedDelete("k1");

  CHECK(kind_of(draft.reader()) > static_cast<std::uint32_t>(schema::Command::VARIABLE_LOCKING));
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

namespace {

struct Locks : Variables {
  /// `data` "": what is stored stays.
  Outcome lock(std::string_view id, std::string_view data = "", std::string_view key = "k1") {
    return run([&](auto command) {
      auto locking = command.initVariableLocking();
      locking.setKeepData(data.empty());
      auto variable = locking.initVariable();
      variable.setNamespace("default");
      variable.setPath("app/db");
      variable.setModifyTime(static_cast<std::int64_t>(index) * 1000);
      variable.setKeyId(text(key));
      variable.setData({reinterpret_cast<const unsigned char*>(data.data()), data.size()});
      auto lock = variable.initLock();
      lock.setId(text(id));
      lock.setTtl(static_cast<std::int64_t>(index));
      lock.setLockDelay(7);
    });
  }

  Outcome release(std::string_view id, std::uint64_t seen = 0) {
    return run([&](auto command) {
      auto locking = command.initVariableLocking();
      locking.setRelease(true);
      auto variable = locking.initVariable();
      variable.setNamespace("default");
      variable.setPath("app/db");
      variable.setModifyTime(5);
      variable.setModifyIndex(seen);
      variable.initLock().setId(text(id));
    });
  }

  Outcome write_as(std::string_view id, VariableOperation operation = VariableOperation::SET) {
    return run([&](auto command) {
      auto apply = command.initVariableApply();
      apply.setOperation(operation);
      apply.setLockId(text(id));
      auto variable = apply.initVariable();
      variable.setNamespace("default");
      variable.setPath("app/db");
      variable.setKeyId("k1");
      variable.setData({reinterpret_cast<const unsigned char*>("other"), 5});
    });
  }

  std::string data() const {
    const auto bytes = stored()->getData();
    return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
  }
};

const std::string locking_of = join_key("default", "app/db");

}  // namespace

TEST_CASE("locks: one that is not there is made, one that is there keeps what it holds") {
  Locks state;

  const auto made = state.lock("id-1");
  REQUIRE_FALSE(made.error);
  CHECK(made.locking == locking_of);
  CHECK(made.concerns_leader());
  CHECK(state.stored()->getCreateIndex() == made.index);
  CHECK(state.data().empty());
  state.release("id-1");
  state.apply(VariableOperation::SET);
  const auto kept = state.lock("id-2");
  CHECK_FALSE(kept.error);
  CHECK(state.data() == "sealed");
  CHECK(state.stored()->getCreateIndex() == made.index);
  state.release("id-2");
  state.lock("id-3", "new");

  CHECK(state.data() == "new");
  CHECK(view(state.stored()->getLock().getId()) == "id-3");
}

TEST_CASE("locks: a locked variable is its holder's alone") {
  Locks state;
  const auto taken = state.lock("id-1", "mine");

  for (const auto& refused :
       {state.lock("id-2"), state.apply(VariableOperation::SET), state.write_as("id-2"),
        state.apply(VariableOperation::DELETE), state.release("id-2"),
        state.apply(VariableOperation::CHECK_AND_SET, taken.index)}) {
    REQUIRE(refused.error);
    CHECK(refused.error->code == Errc::conflict);
    CHECK(refused.error->what == "attempting to modify locked variable");
    CHECK(refused.variable->getModifyIndex() == 0);  // nothing of what is stored is told
    CHECK_FALSE(refused.variable->hasLock());
    CHECK(refused.locking.empty());
  }
  CHECK(state.stored()->getModifyIndex() == taken.index);
  const auto written = state.write_as("id-1");
  CHECK_FALSE(written.error);
  CHECK(state.data() == "other");
  CHECK(state.stored()->getLock().getTtl() == taken.variable->getLock().getTtl());
}

TEST_CASE("locks: who believes that he has one that he has not writes nothing") {
  Locks state;
  const auto nothing = state.write_as("id-1");
  CHECK(nothing.error->what == "variable doesn't hold a lock");
  CHECK(view(nothing.variable->getPath()) == "app/db");
  state.apply(VariableOperation::SET);

  const auto refused = state.write_as("id-1");

  CHECK(refused.error->what == "variable doesn't hold a lock");
  CHECK(refused.error->code == Errc::conflict);
  CHECK(state.data() == "sealed");
  CHECK(state.release("id-1").error->what == "variable doesn't hold a lock");
}

TEST_CASE("locks: a release changes nothing but the lock, and frees the variable") {
  Locks state;
  state.lock("id-1", "mine");

  const auto released = state.release("id-1");

  CHECK_FALSE(released.error);
  CHECK(released.locking == locking_of);
  CHECK_FALSE(state.stored()->hasLock());
  CHECK(state.data() == "mine");
  CHECK(state.stored()->getModifyIndex() == released.index);
  CHECK(state.now().tables().variables_locked.empty());
  CHECK_FALSE(state.lock("id-2").error);
  CHECK_FALSE(state.write_as("id-2", VariableOperation::DELETE).error);
  CHECK(state.release("id-2").error->what == "variable doesn't exist");
}

TEST_CASE("locks: taken again by its holder a lock stays as it was agreed on") {
  Locks state;
  const auto first = state.lock("id-1", "mine");

  const auto again = state.lock("id-1", "newer");

  CHECK_FALSE(again.error);
  CHECK(again.locking == locking_of);
  CHECK(state.data() == "newer");
  CHECK(state.stored()->getLock().getTtl() == first.variable->getLock().getTtl());
}

TEST_CASE("locks: a release at an index lifts nothing that was taken or written since") {
  Locks state;
  const auto taken = state.lock("id-1", "mine").variable->getModifyIndex();
  const auto again = state.lock("id-1", "mine").variable->getModifyIndex();
  const auto late = state.release("id-1", taken);
  REQUIRE(late.error);
  CHECK(late.error->code == Errc::conflict);
  CHECK(late.error->what == "attempting to modify locked variable");
  CHECK(state.stored()->hasLock());

  const auto written = state.write_as("id-1");
  CHECK(written.concerns_leader());
  CHECK(state.release("id-1", again).error);
  CHECK_FALSE(state.release("id-1", written.variable->getModifyIndex()).error);
  CHECK_FALSE(state.stored()->hasLock());
}

TEST_CASE("locks: a holder that deletes the variable gives its lock up") {
  Locks state;
  state.lock("id-1", "mine");

  const auto deleted = state.write_as("id-1", VariableOperation::DELETE);

  CHECK_FALSE(deleted.error);
  CHECK(deleted.locking == locking_of);
  CHECK(state.now().tables().variables_locked.empty());
}

TEST_CASE("locks: one whose root key has gone is not taken") {
  Locks state;

  const auto refused = state.lock("id-1", "mine", "gone");

  CHECK(refused.error->code == Errc::unavailable);
  CHECK(refused.error->what == "root key \"gone\" has been removed; try again");
}

TEST_CASE("locks: a variable whose root key was removed by force is put anew before it is locked") {
  Locks state;
  state.apply(VariableOperation::SET);
  state.put_key("k2", RootKeyState::ACTIVE);
  REQUIRE_FALSE(state.force_delete_key("k1").error);

  const auto refused = state.lock("id-1");

  REQUIRE(refused.error);
  CHECK(refused.error->code == Errc::rejected);
  CHECK(refused.error->what
        == "root key \"k1\", which has sealed the variable, has been removed: put its items anew, "
           "then lock it");
  CHECK_FALSE(state.lock("id-1", "mine", "k2").error);
}

TEST_CASE("locks: who holds one takes it again though the variable's root key has gone") {
  Locks state;
  state.apply(VariableOperation::SET);
  REQUIRE_FALSE(state.lock("id-1").error);
  state.put_key("k2", RootKeyState::ACTIVE);
  REQUIRE_FALSE(state.force_delete_key("k1").error);

  CHECK_FALSE(state.lock("id-1").error);
  CHECK(state.lock("id-2").error);
}

TEST_CASE("commands: what a release before cannot carry out is of a later kind") {
  const auto kind_with = [](const auto& fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    return kind_of(draft.reader());
  };
  constexpr auto later = static_cast<std::uint32_t>(schema::Command::VARIABLE_LOCKING);

  CHECK(kind_with([](auto& to) { to.initPlanResults().initPlans(2)[1].setIdentityKey(7); })
        == later);
  CHECK(kind_with([](auto& to) { to.initPlanResults().initPlans(1); })
        == static_cast<std::uint32_t>(schema::Command::PLAN_RESULTS));
  CHECK(kind_with(
            [](auto& to) { to.initRootKeyUpsert().initKey().setState(RootKeyState::PREPUBLISHED); })
        == later);
  CHECK(kind_with([](auto& to) { to.initRootKeyUpsert().initKey(); })
        == static_cast<std::uint32_t>(schema::Command::ROOT_KEY_UPSERT));
  CHECK(kind_with([](auto& to) { to.initVariableApply().setLockId("id"); }) == later);
  CHECK(
      kind_with([](auto& to) { to.initGuarded().initCommand().initVariableApply().setLockId("i"); })
      == later);
  CHECK(kind_with([](auto& to) { to.initAdmissionPolicyUpsert().setHasHead(true); })
        == static_cast<std::uint32_t>(schema::Command::ROOT_KEY_FORCED_DELETE));
  CHECK(kind_with([](auto& to) { to.initAdmissionPolicyUpsert(); })
        == static_cast<std::uint32_t>(schema::Command::ADMISSION_POLICY_UPSERT));
}

TEST_CASE("commands: a later part proves nothing but itself") {
  const auto parts_with = [](const auto& fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    return parts_of(draft.reader());
  };
  using Command = schema::Command;
  const auto plain = parts_with([](auto& to) { to.initPlanResults().initPlans(1); });
  const auto plan
      = parts_with([](auto& to) { to.initPlanResults().initPlans(1)[0].setIdentityKey(7); });
  const auto guarded = parts_with(
      [](auto& to) { to.initGuarded().initCommand().initVariableApply().setLockId("id"); });
  const auto locking = parts_with([](auto& to) { to.initVariableLocking(); });

  CHECK(plain.number == static_cast<std::uint32_t>(Command::PLAN_RESULTS));
  CHECK(plain.later == 0);
  CHECK(plan.number == static_cast<std::uint32_t>(Command::PLAN_RESULTS));
  CHECK(plan.later != 0);
  CHECK(guarded.number == static_cast<std::uint32_t>(Command::GUARDED));
  CHECK(guarded.later != 0);
  CHECK((guarded.later & plan.later) == 0);
  CHECK(locking.number == static_cast<std::uint32_t>(Command::VARIABLE_LOCKING));
}

TEST_CASE("commands: plans go to earlier releases without identities' keys") {
  Draft<schema::Command> draft;
  auto plans = draft->initPlanResults().initPlans(2);
  plans[0].setEvalId("e");
  plans[1].setIdentityKey(7);

  const auto earlier = without_new_parts(draft.reader());

  REQUIRE(earlier);
  CHECK(kind_of(*earlier) == static_cast<std::uint32_t>(schema::Command::PLAN_RESULTS));
  CHECK(view(earlier->getPlanResults().getPlans()[0].getEvalId()) == "e");
  CHECK_FALSE(without_new_parts(*earlier));
  Draft<schema::Command> key;
  key->initRootKeyUpsert().initKey().setState(RootKeyState::PREPUBLISHED);
  CHECK_FALSE(without_new_parts(key.reader()));
}
