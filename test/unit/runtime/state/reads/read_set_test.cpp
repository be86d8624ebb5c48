// What decisions have read, and what of it holds where their commands are applied.
#include "runtime/state/reads/read_set.hpp"

#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using namespace nomad::state;

namespace {

struct Reads : StateFixture {
  Snapshot seen;
  std::shared_ptr<ReadSet> reads;

  /// Begins a decision on the state as it is.
  Snapshot begin() {
    seen = now();
    reads = std::make_shared<ReadSet>();
    return seen.noting(reads);
  }

  Object<schema::Command> guarded() const {
    Draft<schema::Command> command;
    command->initNamespaceUpsert().setName("decided");
    return reads->guard(command.freeze(), seen.tables());
  }

  /// Whether the command that was decided is refused for what has happened since.
  bool is_stale() {
    const auto before = describe(now());
    const auto outcome = store.apply(++index, *guarded());
    store.publish();
    CHECK(outcome.stale == outcome.error.has_value());
    if (outcome.stale)
      CHECK(describe(now()) == before);
    else
      CHECK(now().get_namespace("decided"));
    return outcome.stale;
  }

  void deploy_web() {
    register_job();
    deploy("deployment", 1);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Reads, "reads: without any there is no guard") {
  begin();
  CHECK(guarded()->isNamespaceUpsert());
  begin().unguarded().job("default", "web");
  CHECK(guarded()->isNamespaceUpsert());
}

TEST_CASE_FIXTURE(Reads, "reads: a row that is there has to stay as it is") {
  register_job();
  register_job({.id = "api"});
  const auto decide = [&] { begin().job("default", "web"); };

  decide();
  CHECK_FALSE(is_stale());
  decide();
  register_job({.id = "api", .groups = {{"api", 2}}});
  CHECK_FALSE(is_stale());  // another row of the table
  decide();
  register_job({.groups = {{"api", 2}}});
  CHECK(is_stale());
  decide();
  deregister("web", true);
  CHECK(is_stale());
}

TEST_CASE_FIXTURE(Reads, "reads: a row that was gone and has come again is another one") {
  register_job();
  begin().job("default", "web");
  deregister("web", true);
  register_job();
  CHECK(is_stale());
}

TEST_CASE_FIXTURE(Reads, "reads: a row that is not there has to stay away") {
  begin().job("default", "web");
  register_job({.id = "api"});
  CHECK_FALSE(is_stale());
  begin().job("default", "web");
  register_job();
  CHECK(is_stale());
}

TEST_CASE_FIXTURE(Reads, "reads: of rows that begin alike none may come, change or go") {
  register_job({.id = "web-1"});
  register_job({.id = "web-2"});
  const auto decide = [&] { static_cast<void>(begin().jobs("default", "web")); };

  decide();
  register_job({.id = "api"});
  CHECK_FALSE(is_stale());
  decide();
  register_job({.id = "web-3"});
  CHECK(is_stale());
  decide();
  register_job({.id = "web-3", .groups = {{"api", 2}}});
  CHECK(is_stale());
  decide();
  deregister("web-3", true);
  CHECK(is_stale());
}

TEST_CASE_FIXTURE(Reads, "reads: rows in another order than that of their keys") {
  deploy_web();
  register_job({.id = "api"});
  const auto change = [&] {
    run([](auto command) {
      auto update = command.initDeploymentStatusUpdate().initUpdate();
      update.setDeploymentId("deployment");
      update.setStatus(schema::DeploymentState::PAUSED);
    });
  };

  begin().latest_deployment("default", "api");
  change();
  CHECK_FALSE(is_stale());
  begin().latest_deployment("default", "web");
  deploy("another", 1);
  CHECK(is_stale());
  begin().latest_deployment("default", "web");
  change();
  CHECK(is_stale());
  static_cast<void>(begin().evals_by_job("default", "web"));
  put_eval({.id = "other", .job = "api"});
  CHECK_FALSE(is_stale());
  static_cast<void>(begin().evals_by_job("default", "web", schema::EvalStatus::PENDING));
  put_eval({.id = "eval"});
  CHECK(is_stale());
}

TEST_CASE_FIXTURE(Reads, "reads: children by their dispatch tokens") {
  const auto dispatch = [&](const char* id, const char* token) {
    run([&](auto command) {
      auto job = command.initJobRegister().initJob();
      fill(job, JobSpec{.id = id, .parent = "para"});
      job.setDispatchIdempotencyToken(token);
    });
  };
  const auto decide = [&] { return begin().dispatched("default", "para", "once"); };
  dispatch("para/dispatch-1", "on");

  CHECK_FALSE(decide());
  dispatch("para/dispatch-2", "once-more");
  CHECK_FALSE(is_stale());
  decide();
  dispatch("para/dispatch-3", "once");
  CHECK(is_stale());
  CHECK(view(decide()->getId()) == "para/dispatch-3");
}

TEST_CASE_FIXTURE(Reads, "reads: what can't be told singly counts as its table") {
  begin().scheduler_configuration();
  register_job();
  CHECK_FALSE(is_stale());
  begin().scheduler_configuration();
  run([](auto command) { command.initSchedulerConfiguration().setPauseEvalBroker(true); });
  CHECK(is_stale());

  static_cast<void>(begin().allocs_by_job("default", "other"));
  place({AllocSpec{}});
  CHECK(is_stale());
  begin().job_counts("default", "web");
  put_eval({});
  CHECK(is_stale());

  const auto many = begin();
  for (int number = 0; number < 200; ++number)
    many.node("node-" + std::to_string(number));
  CHECK(guarded().bytes().size() < 300);
  register_node({.id = "of-another-name"});
  CHECK(is_stale());
}

TEST_CASE_FIXTURE(Reads, "reads: whoever takes the tables has read all of them") {
  register_job();
  static_cast<void>(begin().tables());
  CHECK_FALSE(is_stale());
  static_cast<void>(begin().tables());
  register_node();
  CHECK(is_stale());
}

TEST_CASE_FIXTURE(Reads, "reads: nothing holds any more when the state was replaced") {
  register_job();
  begin().job("default", "web");
  run([](auto command) { command.setRestoreBegin("restore"); });
  run([&](auto command) {
    auto finish = command.initRestoreFinish();
    finish.setRestoreId("restore");
    finish.setIndex(index);
  });
  const auto outcome = store.apply(now().index() + 1, *guarded());
  CHECK(outcome.stale);
  CHECK(outcome.error
        == Error{Errc::conflict, "what the change was decided on has been changed meanwhile"});
}

TEST_CASE("reads: a guard of a later release is refused, and not judged") {
  const auto is_refused = [](std::uint16_t table, schema::Guarded::What what, RowOrder order) {
    Draft<schema::Command> draft;
    auto guarded = draft->initGuarded();
    guarded.initCommand().setNoop();
    auto read = guarded.initReads(1)[0];
    read.setTable(table);
    read.setWhat(what);
    read.setOrder(order);
    const auto checked = check_command(draft.reader());
    if (!checked)
      CHECK(checked.error()
            == Error{Errc::corrupt, "a guard names what is unknown to this version of the server"});
    return !checked;
  };
  using What = schema::Guarded::What;
  const auto jobs = static_cast<std::uint16_t>(Table::jobs);
  const auto config = static_cast<std::uint16_t>(Table::scheduler_config);

  CHECK_FALSE(is_refused(jobs, What::ROW, 0));
  CHECK_FALSE(is_refused(jobs, What::RANGE, 1));
  CHECK(is_refused(jobs, What::RANGE, 99));
  CHECK_FALSE(is_refused(config, What::TABLE, 0));
  CHECK(is_refused(config, What::RANGE, 0));
  CHECK_FALSE(is_refused(stored_tables - 1, What::TABLE, 0));
  CHECK(is_refused(stored_tables, What::TABLE, 0));
  CHECK(is_refused(jobs, static_cast<What>(4), 0));
}

TEST_CASE("reads: many ranges of one table are the table") {
  StateFixture state;
  const auto reads = std::make_shared<ReadSet>();
  const auto seen = state.now();
  const auto noting = seen.noting(reads);
  Draft<schema::Command> noop;
  noop->setNoop();
  for (int i = 0; i < 64; ++i)
    noting.jobs("default", std::to_string(i));
  CHECK(reads->guard(noop.freeze(), seen.tables())->getGuarded().getReads().size() == 64);
  noting.jobs("default", "64");
  const auto guarded = reads->guard(noop.freeze(), seen.tables());
  REQUIRE(guarded->getGuarded().getReads().size() == 1);
  CHECK(guarded->getGuarded().getReads()[0].getWhat() == schema::Guarded::What::TABLE);
}

TEST_CASE("reads: what a guarded command wraps is checked, and its kind counts") {
  StateFixture state;
  const auto reads = std::make_shared<ReadSet>();
  const auto seen = state.now();
  seen.noting(reads).job("default", "web");
  Draft<schema::Command> noop;
  noop->setNoop();
  const auto guarded = reads->guard(noop.freeze(), seen.tables());

  REQUIRE(guarded->isGuarded());
  CHECK(check_command(*guarded).has_value());
  CHECK(kind_of(*guarded) == schema::Command::GUARDED);
  Draft<schema::Command> twice;
  twice->initGuarded().setCommand(*guarded);
  CHECK_FALSE(state.store.apply(11, twice.reader()).error);  // and nothing else
  CHECK_FALSE(state.now().job("default", "web"));
}
