// Restoring a snapshot through the log: all or nothing, and no index ever goes back.
#include "fixture.hpp"

using namespace nomad;
using namespace nomad::state;

namespace {

struct Saved {
  struct Row {
    std::string table;
    std::string key;
    std::vector<std::byte> value;
  };

  std::vector<Row> rows;

  explicit Saved(const Snapshot& snapshot) {
    for (std::uint32_t i = 0; i < stored_tables; ++i) {
      const auto table = static_cast<Table>(i);
      if (table == Table::restore_rows) continue;
      REQUIRE(snapshot
                  .for_each_row(
                      table,
                      [&](std::string_view key, std::span<const std::byte> value) -> Result<> {
                        rows.push_back({std::string{to_string(table)},
                                        std::string{key},
                                        {value.begin(), value.end()}});
                        return {};
                      })
                  .has_value());
    }
  }
};

Outcome begin(StateFixture& state, std::string_view id = "r1") {
  return state.run([&](auto command) { command.setRestoreBegin(text(id)); });
}

Outcome put_rows(StateFixture& state,
                 const std::vector<Saved::Row>& rows,
                 std::uint64_t first = 0,
                 std::string_view id = "r1") {
  return state.run([&](auto command) {
    auto body = command.initRestoreRows();
    body.setRestoreId(text(id));
    body.setFirstNumber(first);
    auto list = body.initRows(static_cast<unsigned>(rows.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setTable(text(rows[i].table));
      list[i].setKey(
          {reinterpret_cast<const unsigned char*>(rows[i].key.data()), rows[i].key.size()});
      list[i].setValue(
          {reinterpret_cast<const unsigned char*>(rows[i].value.data()), rows[i].value.size()});
    }
  });
}

Outcome finish(StateFixture& state,
               std::uint64_t rows,
               std::uint64_t newest = 500,
               std::string_view id = "r1") {
  return state.run([&](auto command) {
    auto body = command.initRestoreFinish();
    body.setRestoreId(text(id));
    body.setRows(rows);
    body.setIndex(newest);
  });
}

/// A state with a job, a node and a placed allocation.
Saved sample() {
  StateFixture saved;
  saved.index = 400;
  saved.register_node();
  saved.register_job({}, {});
  saved.place({{}});
  return Saved{saved.now()};
}

}  // namespace

TEST_CASE("restore: rows are of the kind of the newest table that they name") {
  const auto kind_of_rows = [](std::initializer_list<const char*> tables) {
    Draft<schema::Command> draft;
    auto rows = draft->initRestoreRows().initRows(static_cast<unsigned>(tables.size()));
    for (unsigned i = 0; i < rows.size(); ++i)
      rows[i].setTable(tables.begin()[i]);
    return kind_of(draft.reader());
  };
  using Command = schema::Command;
  CHECK(kind_of_rows({}) == Command::RESTORE_ROWS);
  CHECK(kind_of_rows({"jobs", "variables", "gone"}) == Command::RESTORE_ROWS);
  CHECK(kind_of_rows({"acl_policies", "jobs"}) == Command::ACL_POLICY_UPSERT);
  CHECK(kind_of_rows({"acl_roles", "acl_tokens"}) == Command::ACL_ROLE_UPSERT);

  // A table that came with a release has a command that came with it, or is refused by more.
  const auto first = static_cast<std::uint32_t>(Table::acl_policies);
  for (auto table = first; table < stored_tables; ++table) {
    const std::string name{to_string(static_cast<Table>(table))};
    CHECK(kind_of_rows({name.c_str()}) >= Command::ACL_POLICY_UPSERT);
  }
}

TEST_CASE("restore: rows with parts that a release before passes over are of a later kind") {
  const auto kind_with = [](Table table, std::span<const std::byte> value) {
    Draft<schema::Command> draft;
    auto row = draft->initRestoreRows().initRows(1)[0];
    row.setTable(text(std::string{to_string(table)}));
    row.setValue({reinterpret_cast<const unsigned char*>(value.data()), value.size()});
    return kind_of(draft.reader());
  };
  constexpr auto later = static_cast<std::uint32_t>(schema::Command::VARIABLE_LOCKING);
  constexpr auto usual = static_cast<std::uint32_t>(schema::Command::RESTORE_ROWS);
  Draft<schema::Variable> variable;
  CHECK(kind_with(Table::variables, variable.freeze().bytes()) == usual);
  variable->initLock().setId("id");
  CHECK(kind_with(Table::variables, variable.freeze().bytes()) == later);
  Draft<schema::RootKey> key;
  CHECK(kind_with(Table::root_keys, key.freeze().bytes()) == usual);
  key->setState(schema::RootKeyState::PREPUBLISHED);
  CHECK(kind_with(Table::root_keys, key.freeze().bytes()) == later);
  Draft<schema::AdmissionPolicy> policy;
  policy->setHasHead(true);
  CHECK(kind_with(Table::admission_policies, policy.freeze().bytes())
        == static_cast<std::uint32_t>(schema::Command::ROOT_KEY_FORCED_DELETE));
  CHECK(kind_with(Table::jobs, key.freeze().bytes()) == usual);
  Draft<schema::Job> job;
  CHECK(kind_with(Table::job_versions, job.freeze().bytes()) == usual);
  job->initVersionTag().setName("golden");
  CHECK(kind_with(Table::job_versions, job.freeze().bytes())
        == static_cast<std::uint32_t>(schema::Command::JOB_VERSION_TAGGING));

  // The same from another region.
  for (const bool has_head : {false, true}) {
    policy->setHasHead(has_head);
    const auto row = policy.freeze();
    Draft<schema::Command> draft;
    auto shared = draft->initSharedRows();
    shared.setKind(text(std::string{to_string(Table::admission_policies)}));
    shared.initRows(1).set(
        0, {reinterpret_cast<const unsigned char*>(row.bytes().data()), row.bytes().size()});
    CHECK((kind_of(draft.reader()) == schema::Command::ROOT_KEY_FORCED_DELETE) == has_head);
  }
  CHECK(kind_with(Table::root_keys, {}) == usual);  // refused when the state is put together
}

TEST_CASE("restore: rows replace the state when the last command is applied, and not before") {
  const auto saved = sample();
  StateFixture state;
  state.register_job({.id = "other"});

  begin(state);
  put_rows(state, {saved.rows.begin(), saved.rows.begin() + 2});
  put_rows(state, {saved.rows.begin() + 2, saved.rows.end()}, 2);
  CHECK(state.now().job("default", "other"));
  CHECK_FALSE(state.now().job("default", "web"));
  const auto done = finish(state, saved.rows.size());

  REQUIRE_FALSE(done.error);
  CHECK(done.replaced);
  CHECK_FALSE(state.now().job("default", "other"));
  CHECK(state.now().job("default", "web"));
  REQUIRE(state.now().alloc("alloc"));
  CHECK(state.now().alloc("alloc")->job);
  CHECK(state.now().tables().restore_rows.empty());
}

TEST_CASE("restore: indexes go on behind the newest of both") {
  const auto saved = sample();
  StateFixture state;
  begin(state);
  put_rows(state, saved.rows);

  const auto done = finish(state, saved.rows.size(), 500);

  CHECK(done.index == 501);
  CHECK(state.now().index() == 501);
  CHECK(state.store.index_offset() == 501 - state.index);
  CHECK(state.now().index(Table::jobs) == 501);
}

TEST_CASE("restore: what may run is news for its client, and ready nodes have to report first") {
  StateFixture was;
  was.index = 400;
  was.register_node();
  was.register_node({.id = "off", .status = schema::NodeStatus::DOWN});
  was.register_job({}, {});
  was.place({{}, {.id = "ended"}});
  was.report("ended", schema::ClientStatus::COMPLETE);
  const Saved saved{was.now()};
  StateFixture state;
  begin(state);
  put_rows(state, saved.rows);

  const auto done = finish(state, saved.rows.size(), 500);

  REQUIRE_FALSE(done.error);
  const auto now = state.now();
  CHECK(now.alloc("alloc")->alloc->alloc_modify_index() == 501);
  CHECK(now.alloc("ended")->alloc->alloc_modify_index() < 500);
  CHECK(now.node("node")->getStatus() == schema::NodeStatus::INITIALIZING);
  CHECK(now.node("node")->getLastMissedHeartbeatIndex() == 501);
  CHECK(now.node("off")->getStatus() == schema::NodeStatus::DOWN);
}

TEST_CASE("restore: an older state does not move the index back") {
  const auto saved = sample();
  StateFixture state;
  state.index = 9000;
  begin(state);
  put_rows(state, saved.rows);

  const auto done = finish(state, saved.rows.size(), 500);

  CHECK(done.index == state.index);
  CHECK(state.store.index_offset() == 0);
}

TEST_CASE("restore: missing, damaged or unknown rows change nothing") {
  const auto saved = sample();
  const auto run = [&](const std::vector<Saved::Row>& rows, std::uint64_t count) {
    StateFixture state;
    state.register_job({.id = "other"});
    begin(state);
    put_rows(state, rows);
    const auto done = finish(state, count);
    CHECK(done.error);
    CHECK_FALSE(done.replaced);
    CHECK(state.now().job("default", "other"));
    CHECK(state.now().tables().restore_rows.empty());
    return done.error->what;
  };
  CHECK(run(saved.rows, saved.rows.size() + 1)
        == "rows of the snapshot are missing: they were dropped");
  auto damaged = saved.rows;
  damaged[0].value.resize(8);
  damaged[0].value[3] = std::byte{0x7f};
  run(damaged, damaged.size());
  auto unknown = saved.rows;
  unknown[0].table = "no_such_table";
  run(unknown, unknown.size());
}

TEST_CASE("restore: a row that is missing in between is named") {
  const auto saved = sample();
  StateFixture state;
  begin(state);
  put_rows(state, {saved.rows.begin(), saved.rows.begin() + 1});
  put_rows(state, {saved.rows.begin() + 2, saved.rows.end()}, 2);
  CHECK(finish(state, saved.rows.size()).error
        == Error{Errc::conflict, "row 1 of the snapshot is missing"});
}

TEST_CASE("restore: the later of two wins, the earlier one is refused") {
  const auto saved = sample();
  StateFixture state;
  begin(state, "first");
  put_rows(state, saved.rows, 0, "first");

  begin(state, "second");

  CHECK(finish(state, saved.rows.size(), 500, "first").error
        == Error{Errc::conflict, "another restore has begun meanwhile"});
  CHECK(put_rows(state, saved.rows, 0, "first").error->code == Errc::conflict);
  CHECK_FALSE(put_rows(state, saved.rows, 0, "second").error);
  CHECK_FALSE(finish(state, saved.rows.size(), 500, "second").error);
}

TEST_CASE("restore: a snapshot taken in between carries what was kept aside") {
  const auto saved = sample();
  StateFixture state;
  begin(state);
  put_rows(state, saved.rows);

  StateFixture follower;
  REQUIRE(restore_into(follower.store, state.now()).has_value());
  follower.index = state.index;
  const auto there = finish(follower, saved.rows.size());
  const auto here = finish(state, saved.rows.size());

  CHECK_FALSE(there.error);
  CHECK(there.index == here.index);
  CHECK(describe(follower.now()) == describe(state.now()));
}

TEST_CASE("restore: the present servers stay the holders of keys") {
  const auto saved = sample();
  StateFixture state;
  state.run([](auto command) { command.initKeyHolderUpsert().setId("server-now"); });
  begin(state);
  put_rows(state, saved.rows);

  REQUIRE_FALSE(finish(state, saved.rows.size()).error);

  CHECK(state.now().key_holder("server-now"));
}

TEST_CASE("restore: who waits is woken") {
  const auto saved = sample();
  StateFixture state;
  begin(state);
  put_rows(state, saved.rows);
  bool woken = false;
  const auto waiting
      = state.store.watches().subscribe({watch_key(Table::nodes, "any")}, [&] { woken = true; });

  finish(state, saved.rows.size());

  CHECK(woken);
}
