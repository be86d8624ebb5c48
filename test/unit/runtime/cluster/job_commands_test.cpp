// What is made of a job that is registered: commands, or nothing when it is what is stored.
#include "runtime/cluster/job_commands.hpp"

#include <type_traits>

#include "runtime/cluster/deployment_commands.hpp"
#include "runtime/cluster/node_commands.hpp"
#include "runtime/cluster/scale_commands.hpp"
#include "runtime/cluster/variable_commands.hpp"
#include "test/support/access_policy.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using namespace nomad::test;

// What a caller may have decided cannot be without his permission.
static_assert(!std::is_default_constructible_v<cluster::Decision>);
static_assert(!std::is_default_constructible_v<cluster::NodeDecision>);
static_assert(!std::is_default_constructible_v<cluster::DeploymentDecision>);
static_assert(!std::is_default_constructible_v<cluster::SealedDecision>);

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
    const auto decision = cluster::decide_register(store.snapshot(), nomad::test::anybody(),
                                                   request, {now, &random});
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

TEST_CASE("job commands: tasks keep the resources that they have, if that is asked for") {
  Registrations state;
  const auto with_cpu = [](std::int64_t cpu, const char* added) {
    Draft<schema::Job> draft{submitted(2)};
    auto tasks = draft->getTaskGroups()[0].initTasks(*added == '\0' ? 1 : 2);
    tasks[0].setName("server");
    tasks[0].initResources().setCpu(cpu);
    if (*added != '\0') {
      tasks[1].setName(added);
      tasks[1].initResources().setCpu(cpu);
    }
    return draft.freeze();
  };
  const auto cpu_of = [](const cluster::Decision& decision, unsigned task) {
    const auto job = decision.command->getJobRegister().getJob();
    return job.getTaskGroups()[0].getTasks()[task].getResources().getCpu();
  };
  const auto registered = [&](const Object<schema::Job>& job) {
    return cluster::decide_register(state.store.snapshot(), nomad::test::anybody(),
                                    {.job = job, .preserve_resources = true},
                                    {state.now, &state.random})
        .value();
  };
  CHECK(cpu_of(registered(with_cpu(100, "")), 0) == 100);  // there is none yet
  state.submit(with_cpu(100, ""));

  const auto decision = registered(with_cpu(700, "sidecar"));
  CHECK(cpu_of(decision, 0) == 100);
  CHECK(cpu_of(decision, 1) == 700);                             // which is new
  CHECK(registered(with_cpu(700, "")).command->isEvalUpdate());  // nothing else has changed
}

TEST_CASE("job commands: a job that is registered as a stopped one is evaluated, and dead then") {
  Registrations state;
  Draft<schema::Job> stopped{submitted(1)};
  stopped->setStop(true);
  const auto eval_id = state.submit(stopped.freeze()).eval_id;
  REQUIRE(state.state().eval(eval_id));
  state.apply([&](schema::Command::Builder command) {
    Draft<schema::Evaluation> eval{state.state().eval(eval_id)};
    eval->setStatus(schema::EvalStatus::COMPLETE);
    command.initEvalUpdate().initEvaluations(1).setWithCaveats(0, eval.reader());
  });
  CHECK(view(state.state().job("default", "web")->getStatus()) == "dead");
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
    const auto decision = cluster::decide_register(state.store.snapshot(), nomad::test::anybody(),
                                                   request, {state.now, &state.random});
    REQUIRE(decision.has_value());
    return decision->command->which();
  };

  CHECK(decide(index) == schema::Command::EVAL_UPDATE);
  CHECK(decide(index + 1) == schema::Command::JOB_REGISTER);  // for the log to refuse
}

TEST_CASE_FIXTURE(Harness, "job commands: delays are skipped for what runs") {
  add_node();
  CHECK_FALSE(
      cluster::decide_skip_delays(state(), nomad::test::anybody(), "default", "web")->command);
  process(register_job(make_job(2)));

  const auto command
      = cluster::decide_skip_delays(state(), nomad::test::anybody(), "default", "web")->command;

  REQUIRE(command);
  CHECK(command->getAllocTransition().getEntries().size() == 2);
  store.apply(++next_index, *command);
  store.publish();
  for (const auto& row : allocs())
    CHECK(row->alloc->transition().getNoShutdownDelay().getValue());
}

namespace {

struct Jobs : state::StateFixture {
  Random random{3};
  const cluster::EvalSeed seed{5'000'000'000, &random};

  /// "web" with the group "api" of this count.
  void put(std::int64_t count) { register_job({.groups = {{"api", count}, {"cache", 1}}}); }

  /// The policy of the group "api".
  void allow_reschedule(std::int64_t attempts, bool unlimited) {
    run([&](auto command) {
      auto job = command.initJobRegister().initJob();
      fill(job, state::JobSpec{.groups = {{"api", 2}, {"cache", 1}}});
      auto policy = job.getTaskGroups()[0].initReschedulePolicy();
      policy.setAttempts(attempts);
      policy.setUnlimited(unlimited);
    });
  }

  /// A job that is dispatched, and what its parameterized block says.
  void put_parameterized(const char* payload) {
    run([&](auto command) {
      auto job = command.initJobRegister().initJob();
      fill(job, state::JobSpec{.type = "batch"});
      auto config = job.initParameterizedJob();
      config.setPayload(payload);
      config.initMetaRequired(1).set(0, "must");
      config.initMetaOptional(1).set(0, "may");
      auto meta = job.initMeta(1)[0];
      meta.setKey("may");
      meta.setValue("default");
    });
  }

  Result<cluster::Decision> dispatch(const std::string& payload,
                                     std::vector<std::pair<std::string, std::string>> meta,
                                     const std::string& token = {}) {
    return cluster::decide_dispatch(now(), nomad::test::anybody(),
                                    {.ns = "default",
                                     .job_id = "web",
                                     .payload = payload,
                                     .meta = std::move(meta),
                                     .idempotency_token = token,
                                     .id_prefix = {}},
                                    seed);
  }

  std::string refusal(const std::string& payload,
                      std::vector<std::pair<std::string, std::string>> meta) {
    const auto decision = dispatch(payload, std::move(meta));
    return decision ? "" : decision.error().what;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Jobs, "reverting: an older version comes back as a new one that runs") {
  put(1);
  put(2);
  const auto decision = cluster::decide_revert(now(), nomad::test::anybody(), "default", "web", 0,
                                               std::nullopt, 0, seed);
  REQUIRE(decision);
  const auto registered = decision->command->getJobRegister();
  CHECK_FALSE(registered.getEnforceIndex());
  CHECK(registered.getJob().getTaskGroups()[0].getCount() == 1);
  CHECK_FALSE(registered.getJob().getStop());
  CHECK_FALSE(registered.getJob().getStable());
  CHECK(registered.getJob().getVersion() == 0);
  CHECK(registered.getEvaluation().getPriority() == now().job("default", "web")->getPriority());
}

TEST_CASE_FIXTURE(Jobs, "reverting: a version that says the same as the current one makes none") {
  put(1);
  put(2);
  put(1);
  const auto decision = cluster::decide_revert(now(), nomad::test::anybody(), "default", "web", 0,
                                               std::nullopt, 0, seed);
  REQUIRE(decision);
  REQUIRE(decision->command->isEvalUpdate());
  CHECK(decision->command->getEvalUpdate().getEvaluations()[0].getJobId() == "web");
  CHECK(decision->job_modify_index == now().job("default", "web")->getJobModifyIndex());
}

TEST_CASE_FIXTURE(Jobs, "reverting: what a stable version comes back as is stable") {
  register_job({.stable = true, .groups = {{"api", 1}}});
  put(2);
  put(3);
  run([](auto command) {
    auto stability = command.initJobStability();
    stability.setNamespace("default");
    stability.setJobId("web");
    stability.setVersion(1);
    stability.setStable(true);
  });
  REQUIRE(now().job_version("default", "web", 1)->getStable());
  const auto decision = cluster::decide_revert(now(), nomad::test::anybody(), "default", "web", 1,
                                               std::nullopt, 0, seed);
  REQUIRE(decision);
  CHECK(decision->command->getJobRegister().getJob().getStable());
  CHECK(decision->command->getJobRegister().getJob().getVersion() == 0);
}

TEST_CASE_FIXTURE(Jobs,
                  "reverting: not to what is, nor to what never was, nor from another version") {
  put(1);
  put(2);
  const auto revert = [this](std::uint64_t version, std::optional<std::uint64_t> prior) {
    const auto decision = cluster::decide_revert(now(), nomad::test::anybody(), "default", "web",
                                                 version, prior, 0, seed);
    return decision ? "" : decision.error().what;
  };
  CHECK(revert(1, std::nullopt) == "can't revert to current version");
  CHECK(revert(7, std::nullopt).find("version 7") != std::string::npos);
  CHECK(revert(0, 5) == "Current job has version 1; enforcing version 5");
  const auto held
      = cluster::decide_revert(now(), nomad::test::anybody(), "default", "web", 0, 1, 0, seed);
  REQUIRE(held);
  CHECK(held->command->getJobRegister().getEnforceIndex());
  deregister("web", true);
  CHECK(revert(0, std::nullopt) == "job \"web\" not found");
}

TEST_CASE_FIXTURE(Jobs, "evaluating: what failed and has no successor may be placed at once") {
  allow_reschedule(0, true);
  place({{.id = "one"}, {.id = "two"}, {.id = "three"}, {.id = "four"}});
  report("one", schema::ClientStatus::FAILED);
  report("two", schema::ClientStatus::FAILED);
  report("three", schema::ClientStatus::RUNNING);
  report("four", schema::ClientStatus::FAILED);
  place({{.id = "five", .previous = "four"}});
  const auto forced
      = cluster::decide_evaluate(now(), nomad::test::anybody(), "default", "web", true, seed);
  REQUIRE(forced);
  REQUIRE(forced->command->which() == schema::Command::ALLOC_TRANSITION);
  const auto entries = forced->command->getAllocTransition().getEntries();
  REQUIRE(entries.size() == 2);
  CHECK(view(entries[0].getAllocId()) == "one");
  CHECK(view(entries[1].getAllocId()) == "two");
  for (const auto entry : entries)
    CHECK(entry.getTransition().getForceReschedule().getValue());
  REQUIRE(forced->command->getAllocTransition().getEvaluations().size() == 1);
  CHECK(view(forced->command->getAllocTransition().getEvaluations()[0].getId()) == forced->eval_id);

  const auto plain
      = cluster::decide_evaluate(now(), nomad::test::anybody(), "default", "web", false, seed);
  CHECK(plain->command->which() == schema::Command::EVAL_UPDATE);
}

TEST_CASE_FIXTURE(Jobs, "evaluating: nothing is placed anew that its group would not place anew") {
  const auto forced = [this] {
    return cluster::decide_evaluate(now(), nomad::test::anybody(), "default", "web", true, seed)
        ->command->which();
  };
  put(2);
  place({{.id = "one"}});
  report("one", schema::ClientStatus::FAILED);
  allow_reschedule(0, false);
  CHECK(forced() == schema::Command::EVAL_UPDATE);
  allow_reschedule(1, false);
  CHECK(forced() == schema::Command::ALLOC_TRANSITION);
  allow_reschedule(0, true);
  CHECK(forced() == schema::Command::ALLOC_TRANSITION);
}

TEST_CASE_FIXTURE(Jobs, "evaluating: neither what is not there nor what only makes children") {
  const auto refused = [this] {
    const auto decision
        = cluster::decide_evaluate(now(), nomad::test::anybody(), "default", "web", false, seed);
    return decision ? "" : decision.error().what;
  };
  CHECK(refused().find("not found") != std::string::npos);
  register_job({.periodic = true});
  CHECK(refused() == "can't evaluate periodic job");
  deregister("web", true);
  put_parameterized("");
  CHECK(refused() == "can't evaluate parameterized job");
}

TEST_CASE_FIXTURE(
    Jobs,
    "stopping a job: what is not there is no error, and children's parents have no evaluation") {
  CHECK_FALSE(
      cluster::decide_deregister(now(), nomad::test::anybody(), "default", "web", false, 0, seed)
          ->command);
  put(1);
  const auto stopped
      = cluster::decide_deregister(now(), nomad::test::anybody(), "default", "web", true, 70, seed);
  CHECK(stopped->command->getJobDeregister().getPurge());
  CHECK(stopped->command->getJobDeregister().getEvaluation().getPriority() == 70);
  register_job({.id = "cron", .periodic = true});
  const auto parent = cluster::decide_deregister(now(), nomad::test::anybody(), "default", "cron",
                                                 false, 0, seed);
  CHECK(parent->eval_id.empty());
  CHECK_FALSE(parent->command->getJobDeregister().hasEvaluation());
}

TEST_CASE_FIXTURE(Jobs, "stopping an allocation: it moves, and at once if that is wanted") {
  CHECK(cluster::decide_alloc_stop(now(), nomad::test::anybody(), "one", false, seed).has_error());
  put(1);
  place({{.id = "one"}});
  for (const bool at_once : {false, true}) {
    const auto decision
        = cluster::decide_alloc_stop(now(), nomad::test::anybody(), "one", at_once, seed);
    REQUIRE(decision);
    const auto command = decision->command->getAllocTransition();
    REQUIRE(command.getEntries().size() == 1);
    CHECK(view(command.getEntries()[0].getAllocId()) == "one");
    const auto transition = command.getEntries()[0].getTransition();
    CHECK(transition.getMigrate().getValue());
    CHECK(transition.getNoShutdownDelay().isValue() == at_once);
    if (at_once) CHECK(transition.getNoShutdownDelay().getValue());
    REQUIRE(command.getEvaluations().size() == 1);
    CHECK(view(command.getEvaluations()[0].getId()) == decision->eval_id);
  }
}

TEST_CASE_FIXTURE(Jobs, "dispatching: the payload is what the job wants of it") {
  const std::string most(16'384, 'x');
  put_parameterized("optional");
  CHECK(refusal("", {{"must", "1"}}).empty());
  CHECK(refusal(most, {{"must", "1"}}).empty());
  CHECK(refusal(most + "x", {{"must", "1"}}) == "Payload exceeds maximum size; 16385 > 16384");
  put_parameterized("required");
  CHECK(refusal("x", {{"must", "1"}}).empty());
  CHECK(refusal("", {{"must", "1"}})
        == "Payload is not provided but required by parameterized job");
  put_parameterized("forbidden");
  CHECK(refusal("", {{"must", "1"}}).empty());
  CHECK(refusal("x", {{"must", "1"}}) == "Payload provided but forbidden by parameterized job");
}

TEST_CASE_FIXTURE(Jobs, "dispatching: all required keys, and none that the job does not know") {
  put_parameterized("optional");
  CHECK(refusal("", {}) == "Dispatch did not provide required meta keys: [must]");
  CHECK(refusal("", {{"must", "1"}, {"may", "2"}}).empty());
  CHECK(refusal("", {{"must", "1"}, {"other", "2"}})
        == "Dispatch request included unpermitted metadata keys: [other]");
  CHECK(refusal("", {{"b", "1"}, {"a", "2"}})
        == "Dispatch request included unpermitted metadata keys: [a b]");
}

TEST_CASE_FIXTURE(Jobs, "dispatching: the child has its payload and its keys over the parent's") {
  put_parameterized("optional");
  const auto decision = dispatch("data", {{"must", "1"}, {"may", "2"}}, "token");
  REQUIRE(decision);
  const auto child = decision->command->getJobRegister().getJob();
  CHECK(view(child.getId()).starts_with("web/dispatch-5-"));
  CHECK(view(child.getParentId()) == "web");
  CHECK(child.getDispatched());
  REQUIRE(child.hasParameterizedJob());  // Its tasks see what may be missing, empty.
  CHECK(child.getParameterizedJob().getMetaOptional().size() == 1);
  CHECK(child.getPayload().size() == 4);
  REQUIRE(child.getMeta().size() == 2);
  CHECK(view(child.getMeta()[0].getValue()) == "2");
  CHECK_FALSE(dispatch("", {{"must", "1"}})->command->getJobRegister().getJob().hasPayload());
}

TEST_CASE_FIXTURE(Jobs, "dispatching: the child is of its parent's version") {
  put_parameterized("forbidden");
  put_parameterized("optional");
  REQUIRE(now().job("default", "web")->getVersion() == 1);
  const auto decision = dispatch("", {{"must", "1"}});
  REQUIRE(decision);
  const auto child = copy(decision->command->getJobRegister().getJob().getId());
  run([&](auto command) {
    command.initJobRegister().setJob(decision->command->getJobRegister().getJob());
  });
  CHECK(now().job("default", child)->getVersion() == 1);
}

TEST_CASE_FIXTURE(Jobs, "dispatching: the same token again finds the child that is there") {
  put_parameterized("optional");
  const auto first = dispatch("", {{"must", "1"}}, "token");
  run([&](auto command) {
    command.initJobRegister().setJob(first->command->getJobRegister().getJob());
  });
  const auto again = dispatch("", {{"must", "1"}}, "token");
  CHECK(again->job_id == first->job_id);
  CHECK_FALSE(again->command);
  CHECK(dispatch("", {{"must", "1"}}, "other")->command);
  CHECK(dispatch("", {{"must", "1"}})->command);
}

TEST_CASE_FIXTURE(Jobs, "dispatching: only a parameterized job that is there") {
  CHECK(refusal("", {}) == "parameterized job not found");
  put(1);
  CHECK(refusal("", {}) == "Specified job \"web\" is not a parameterized job");
}

TEST_CASE_FIXTURE(Jobs, "registering: a job is periodic, parameterized or neither for its life") {
  const auto change = [this](const Object<schema::Job>& job) {
    cluster::RegisterRequest request;
    request.job = job;
    const auto decision = cluster::decide_register(now(), nomad::test::anybody(), request, seed);
    return decision ? "" : decision.error().what;
  };
  const auto job = [](bool periodic, bool parameterized) {
    Draft<schema::Job> draft;
    state::fill(*draft, state::JobSpec{.type = "batch", .periodic = periodic});
    if (parameterized) draft->initParameterizedJob();
    return draft.freeze();
  };
  register_job({.type = "batch", .periodic = true});
  CHECK(change(job(true, false)).empty());
  CHECK(change(job(false, false)) == "cannot update periodic job to being non-periodic");
  deregister("web", true);
  put_parameterized("");
  CHECK(change(job(false, true)).empty());
  CHECK(change(job(false, false)) == "cannot update parameterized job to being non-parameterized");
  deregister("web", true);
  register_job({.type = "batch"});
  CHECK(change(job(false, false)).empty());
  CHECK(change(job(true, false)) == "cannot update non-periodic job to being periodic");
  CHECK(change(job(false, true)) == "cannot update non-parameterized job to being parameterized");
  Draft<schema::Job> dispatched{job(false, false)};
  dispatched->setDispatched(true);
  CHECK(change(dispatched.freeze()) == "field 'Dispatched' is read-only");
}

TEST_CASE("job commands: scaling and reverting keep to the bound of counts") {
  Registrations state;
  state.submit(submitted(5));
  state.submit(submitted(2));
  const auto revert = [&](std::int64_t max_count) {
    return cluster::decide_revert(state.store.snapshot(), nomad::test::anybody(), "default", "web",
                                  0, {}, max_count, {state.now, &state.random});
  };
  const auto scale = [&](std::int64_t count, std::int64_t max_count) {
    return cluster::decide_scale(state.store.snapshot(), nomad::test::anybody(),
                                 {.ns = "default", .job_id = "web", .group = "api", .count = count},
                                 max_count, {state.now, &state.random});
  };
  CHECK(revert(5).has_value());
  CHECK(revert(0).has_value());
  CHECK(revert(4).error().what == "total count was greater than configured job_max_count: 5 > 4");
  CHECK(scale(4, 4).has_value());
  CHECK(scale(INT64_MAX, 0).has_value());
  CHECK(scale(5, 4).error().code == Errc::invalid_argument);
  // Whose bound has been lowered comes down to it in steps.
  state.submit(submitted(9));
  CHECK(scale(8, 4).has_value());
  CHECK(scale(10, 4).has_error());
}

TEST_CASE_FIXTURE(Jobs, "job commands: what the namespace takes no more is not reverted to") {
  put(1);
  put(2);
  const auto drivers_of = [this](const char* disabled) {
    run([disabled](auto command) {
      auto ns = command.initNamespaceUpsert();
      ns.setName("default");
      ns.initCapabilities().initDisabledTaskDrivers(1).set(0, disabled);
    });
  };
  const auto revert = [this] {
    const auto decision
        = cluster::decide_revert(now(), nomad::test::anybody(), "default", "web", 0, {}, 0, seed);
    return decision ? "" : decision.error().what;
  };
  run([this](auto command) {
    auto job = command.initJobRegister().initJob();
    fill(job, state::JobSpec{.groups = {{"api", 3}}});
    job.getTaskGroups()[0].initTasks(1)[0].setDriver("raw_exec");
  });
  put(4);
  const auto to_raw_exec = [this] {
    const auto decision
        = cluster::decide_revert(now(), nomad::test::anybody(), "default", "web", 2, {}, 0, seed);
    return decision ? "" : decision.error().what;
  };
  CHECK(to_raw_exec().empty());
  drivers_of("raw_exec");
  CHECK(to_raw_exec()
        == "1 error occurred:\n\t* used task driver \"raw_exec\" is not allowed in namespace "
           "\"default\"\n\n");
  CHECK(revert().empty());
}

TEST_CASE_FIXTURE(Jobs, "job commands: the namespace of the job is judged, whoever names it") {
  const auto asking = asking_with(a_only, access::Capability::submit_job);
  const auto refused = [](const auto& result) {
    return result.has_error() && result.error().code == Errc::permission_denied;
  };

  CHECK(refused(cluster::decide_register(now(), asking, {.job = submitted(1)}, seed)));
  CHECK(refused(cluster::decide_deregister(now(), asking, "default", "web", false, 0, seed)));
  CHECK(refused(cluster::decide_skip_delays(now(), asking, "default", "web")));
  CHECK(refused(cluster::decide_evaluate(now(), asking, "default", "web", false, seed)));
  CHECK(refused(cluster::decide_revert(now(), asking, "default", "web", 0, {}, 0, seed)));
  CHECK(refused(cluster::decide_scale(
      now(), asking, {.ns = "default", .job_id = "web", .group = "api", .count = 1}, 0, seed)));
  cluster::DispatchRequest dispatch;
  dispatch.ns = "default";
  CHECK(refused(cluster::decide_dispatch(now(), asking, dispatch, seed)));
  CHECK(refused(cluster::decide_periodic_launch(now(), asking, "default", "web", seed)));
  CHECK(refused(cluster::decide_stability(now(), asking, "default", "web", 0, true)));
  CHECK(cluster::decide_deregister(now(), asking, "a", "web", false, 0, seed).has_value());
}

TEST_CASE_FIXTURE(Jobs, "job commands: operators can close the door to new work, not to its end") {
  put(2);
  run([](auto command) { command.initSchedulerConfiguration().setRejectJobRegistration(true); });
  const auto anybody = nomad::test::anybody();
  const auto closed = [](const auto& result) {
    return result.has_error() && result.error().code == Errc::permission_denied
           && result.error().what
                  == "Job registration, dispatch, and scale are disabled by the scheduler "
                     "configuration";
  };
  CHECK(closed(cluster::decide_register(now(), anybody, {.job = submitted(1)}, seed)));
  CHECK(closed(cluster::decide_revert(now(), anybody, "default", "web", 0, {}, 0, seed)));
  CHECK(closed(cluster::decide_scale(
      now(), anybody, {.ns = "default", .job_id = "web", .group = "api", .count = 1}, 0, seed)));
  CHECK(closed(dispatch("", {})));
  CHECK(cluster::decide_deregister(now(), anybody, "default", "web", false, 0, seed).has_value());
}
