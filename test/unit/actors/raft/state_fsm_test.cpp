#include "actors/raft/state_fsm.hpp"

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>
#include <stdlib.h>

#include "runtime/object/draft.hpp"
#include "runtime/storage/snapshot_file.hpp"

using namespace nomad;
using raft::Entry;
using raft::StateFsm;

namespace {

struct FsmFixture {
  std::shared_ptr<state::Store> store = std::make_shared<state::Store>();
  StateFsm fsm{store};
  std::string directory;

  FsmFixture() {
    char name[] = "/tmp/state-fsm-XXXXXX";
    directory = mkdtemp(name);
  }

  ~FsmFixture() { std::filesystem::remove_all(directory); }
};

Entry register_job(raft::Index index, const char* id, const char* eval_id = nullptr) {
  Draft<schema::Command> draft;
  auto command = draft->initJobRegister();
  if (eval_id != nullptr) {
    auto eval = command.initEvaluation();
    eval.setId(eval_id);
    eval.setJobId(id);
    eval.setNamespace("default");
  }
  auto job = command.initJob();
  job.setId(id);
  job.setNamespace("default");
  job.setType("service");
  return {.index = index, .term = 1, .payload = raft::payload_of(draft.freeze())};
}

}  // namespace

TEST_CASE_FIXTURE(
    FsmFixture, "StateFsm: a batch is applied, published once, and told if it concerns a leader") {
  std::size_t told = 0;
  bool visible = false;
  fsm.set_listener([&](const auto& outcomes) {
    told += outcomes.size();
    visible = static_cast<bool>(store->snapshot().job("default", "b"));
  });
  const Entry entries[] = {register_job(4, "a"), register_job(5, "b", "eval")};

  const auto outcomes = fsm.apply(entries, 6);

  REQUIRE(outcomes.size() == 2);
  CHECK_FALSE(outcomes[0].error.has_value());
  CHECK(outcomes[1].index == 5);
  CHECK(told == 1);  // of an evaluation
  CHECK(visible);
  CHECK(store->snapshot().index() == 6);
}

TEST_CASE_FIXTURE(FsmFixture, "StateFsm: bytes that are no command are refused before they count") {
  CHECK(fsm.check(register_job(1, "a").payload.view()).has_value());
  CHECK(fsm.check(raft::Bytes::copy("this is no command at all, is it").view()).error().code
        == Errc::corrupt);
  CHECK(fsm.check({}).has_error());
  const Entry odd[] = {{.index = 4, .term = 1, .payload = raft::Bytes::copy("seven b")}};
  CHECK(fsm.apply(odd, 4).front().error
        == Error{Errc::corrupt, "the command's bytes are not whole, aligned words"});
}

TEST_CASE_FIXTURE(FsmFixture, "StateFsm: a snapshot file restores the same state") {
  const Entry entries[] = {register_job(4, "a"), register_job(5, "b")};
  fsm.apply(entries, 5);
  auto writer = storage::SnapshotWriter::create(
      directory, {.index = 5, .term = 1, .configuration = {}, .configuration_index = 0});
  REQUIRE(writer.has_value());
  REQUIRE(fsm.snapshot()->write(**writer).has_value());
  auto file = (*writer)->finish();
  REQUIRE(file.has_value());

  auto reader = storage::SnapshotReader::open(file->path);
  REQUIRE(reader.has_value());
  auto other = std::make_shared<state::Store>();
  auto restored = StateFsm{other}.restore(**reader, 5);

  if (!restored) MESSAGE(restored.error().what);
  REQUIRE(restored.has_value());
  CHECK(other->snapshot().index() == 5);
  CHECK(other->snapshot().job("default", "a").equals(store->snapshot().job("default", "a")));
  CHECK(other->snapshot().index(state::Table::jobs) == 5);
  // Nothing is said of tables without rows: a release that does not know them takes it, too.
  const auto tables = (*reader)->tables().value();
  CHECK(std::ranges::find(tables, "jobs") != tables.end());
  CHECK(std::ranges::find(tables, "variables") == tables.end());
}

TEST_CASE_FIXTURE(FsmFixture,
                  "StateFsm: a state is prepared, or refused, beside the one in force") {
  const auto write = [&](const raft::SnapshotSource& source, raft::Index index,
                         std::string_view more) {
    auto writer = storage::SnapshotWriter::create(
        directory, {.index = index, .term = 1, .configuration = {}, .configuration_index = 0});
    REQUIRE(writer.has_value());
    REQUIRE(source.write(**writer).has_value());
    if (!more.empty()) REQUIRE((*writer)->begin_table(more).has_value());
    const auto file = (*writer)->finish();
    REQUIRE(file.has_value());
    return std::move(storage::SnapshotReader::open(file->path).value());
  };
  const Entry entries[] = {register_job(4, "a")};
  fsm.apply(entries, 4);
  const auto other = std::make_shared<state::Store>();

  const auto prepared = StateFsm{other}.prepare(*write(*fsm.snapshot(), 4, ""));
  REQUIRE(prepared.has_value());
  CHECK(other->snapshot().index() == 0);
  StateFsm{other}.install(**prepared, 4);
  CHECK(other->snapshot().index() == 4);
  CHECK(other->snapshot().job("default", "a").equals(store->snapshot().job("default", "a")));

  const auto refused = StateFsm{other}.prepare(*write(*fsm.snapshot(), 5, "from_the_future"));
  REQUIRE(refused.has_error());
  CHECK(refused.error().what
        == "the snapshot's table \"from_the_future\" is unknown to this version: a newer one has made it");
}

TEST_CASE_FIXTURE(FsmFixture, "StateFsm: restores, large commands and large batches take long") {
  const auto entry_of = [](Draft<schema::Command>& draft) {
    return Entry{.index = 1,
                 .term = 1,
                 .kind = raft::EntryKind::command,
                 .payload = raft::payload_of(draft.freeze())};
  };
  const auto job = register_job(1, "web");
  CHECK_FALSE(fsm.takes_long({}));
  CHECK_FALSE(fsm.takes_long(std::vector<Entry>(100, job)));
  CHECK(fsm.takes_long(std::vector<Entry>(300, job)));

  Draft<schema::Command> finish;
  finish->initRestoreFinish().setRestoreId("r");
  CHECK(fsm.takes_long(std::vector<Entry>{job, entry_of(finish)}));

  Draft<schema::Command> rows;
  rows->initRestoreRows().initRows(1)[0].initValue(200'000);
  CHECK(fsm.takes_long(std::vector<Entry>{entry_of(rows)}));
  const Entry garbage{
      .index = 2, .term = 1, .kind = raft::EntryKind::command, .payload = Bytes::copy("?")};
  CHECK_FALSE(fsm.takes_long(std::vector<Entry>{garbage}));
}

TEST_CASE_FIXTURE(FsmFixture, "StateFsm: kinds of commands are counted") {
  const auto entry = register_job(4, "a");
  CHECK(fsm.kind_of(entry.payload.view())
        == static_cast<std::uint32_t>(schema::Command::JOB_REGISTER));
  CHECK(fsm.common_commands() <= fsm.known_commands());
  CHECK_FALSE(fsm.earlier_form(entry.payload.view()));
}

TEST_CASE_FIXTURE(FsmFixture, "StateFsm: a guarded command has an earlier form") {
  Draft<schema::Command> draft;
  draft->initGuarded().initCommand().setNodePoolDelete("gpu");
  const auto payload = raft::payload_of(draft.freeze());

  CHECK(fsm.check(payload.view()).has_value());
  CHECK(fsm.kind_of(payload.view()) == static_cast<std::uint32_t>(schema::Command::GUARDED));
  const auto earlier = fsm.earlier_form(payload.view());
  REQUIRE(earlier);
  CHECK(fsm.kind_of(earlier->view())
        == static_cast<std::uint32_t>(schema::Command::NODE_POOL_DELETE));
}

TEST_CASE_FIXTURE(FsmFixture,
                  "StateFsm: members of earlier releases get plans without identities' keys") {
  Draft<schema::Command> draft;
  draft->initPlanResults().initPlans(1)[0].setIdentityKey(7);
  const auto payload = raft::payload_of(draft.freeze());

  CHECK(fsm.check(payload.view()).has_value());
  CHECK(fsm.kind_of(payload.view())
        == static_cast<std::uint32_t>(schema::Command::VARIABLE_LOCKING));
  const auto earlier = fsm.earlier_form(payload.view());
  REQUIRE(earlier);
  CHECK(fsm.kind_of(earlier->view()) == static_cast<std::uint32_t>(schema::Command::PLAN_RESULTS));
  CHECK_FALSE(fsm.earlier_form(earlier->view()));
}
