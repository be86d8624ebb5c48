// What is made of a job that is registered: commands, or nothing when it is what is stored.
#include "runtime/cluster/job_commands.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

/// A job as the API hands it over: what nobody set is absent.
Object<schema::Job> submitted(std::int64_t count) {
  Draft<schema::Job> draft;
  draft->setId("web");
  draft->setName("web");
  draft->setNamespace("default");
  draft->setNodePool("default");
  draft->setType("service");
  draft->setConsulToken("");
  auto group = draft->initTaskGroups(1)[0];
  group.setName("api");
  group.setCount(count);
  return draft.freeze();
}

struct Registrations : Harness {
  cluster::Decision submit(const Object<schema::Job>& job) {
    cluster::RegisterRequest request;
    request.job = job;
    const auto decision = cluster::decide_register(store.snapshot(), request, {now, &random});
    REQUIRE(decision.has_value());
    const auto outcome = store.apply(++next_index, *decision->command);
    store.publish();
    REQUIRE_FALSE(outcome.error);
    return *decision;
  }

  std::uint64_t version() const { return store.snapshot().job("default", "web")->getVersion(); }
};

}  // namespace

TEST_CASE("job commands: the same job again is no new version, but is evaluated") {
  Registrations state;
  state.submit(submitted(2));
  const auto stored = state.store.snapshot().job("default", "web");
  CHECK(cluster::same_specification(*stored, *submitted(2)));
  CHECK_FALSE(cluster::same_specification(*stored, *submitted(3)));

  const auto again = state.submit(submitted(2));
  CHECK(state.version() == 0);
  CHECK(again.job_modify_index == stored->getJobModifyIndex());
  CHECK_FALSE(again.eval_id.empty());

  state.submit(submitted(3));
  CHECK(state.version() == 1);
}

TEST_CASE("job commands: a condition that holds does not make a version") {
  Registrations state;
  state.submit(submitted(2));
  const auto index = state.store.snapshot().job("default", "web")->getJobModifyIndex();
  const auto decide = [&](std::uint64_t wanted) {
    cluster::RegisterRequest request;
    request.job = submitted(2);
    request.enforce_index = true;
    request.job_modify_index = wanted;
    const auto decision
        = cluster::decide_register(state.store.snapshot(), request, {state.now, &state.random});
    REQUIRE(decision.has_value());
    return decision->command->which();
  };

  CHECK(decide(index) == schema::Command::EVAL_UPDATE);
  CHECK(decide(index + 1) == schema::Command::JOB_REGISTER);  // for the log to refuse
}

TEST_CASE_FIXTURE(Harness, "job commands: delays are skipped for what runs") {
  add_node();
  CHECK_FALSE(cluster::decide_skip_delays(state(), "default", "web"));
  process(register_job(make_job(2)));

  const auto command = cluster::decide_skip_delays(state(), "default", "web");

  REQUIRE(command);
  CHECK(command->getAllocTransition().getEntries().size() == 2);
  store.apply(++next_index, *command);
  store.publish();
  for (const auto& row : allocs())
    CHECK(row->alloc->getDesiredTransition().getNoShutdownDelay().getValue());
}
