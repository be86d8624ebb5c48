#include "runtime/scheduler/explain/waits.hpp"

#include "test/unit/runtime/scheduler/explain/explain_harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

/// Waits as they are said, without the ids.
std::string said(const std::vector<explain::Wait>& waits) {
  std::string all;
  for (const auto& one : waits) {
    auto words = one.text;
    if (const auto id = one.id.substr(0, 8); !id.empty())
      if (const auto at = words.find(id); at != std::string::npos)
        words.replace(at, id.size(), "X");
    all += (all.empty() ? "" : "; ") + words;
  }
  return all;
}

struct Waiting : ExplainHarness {
  using EditEval = std::function<void(schema::Evaluation::Builder)>;

  /// What "web" waits for, which has this evaluation alone.
  std::string with_eval(const EditEval& edit) {
    const auto eval = register_job(make_job(1));
    Draft<schema::Evaluation> draft{eval};
    edit(*draft);
    write({draft.freeze()});
    return said(group().waits);
  }

  using EditDeployment = std::function<void(schema::DeploymentGroup::Builder)>;

  std::string with_deployment(schema::DeploymentState status, const EditDeployment& edit) {
    process(register_job(make_job(0)));
    apply([&](schema::Command::Builder command) {
      auto made = command.initPlanResults().initPlans(1)[0].initDeployment();
      made.setId(text(make_uuid(random)));
      made.setNamespace("default");
      made.setJobId("web");
      made.setStatus(status);
      auto entry = made.initTaskGroups(1)[0];
      entry.setKey("api");
      edit(entry.initValue());
    });
    return said(group().waits);
  }

  std::string of_alloc(const state::AllocRef& row) const {
    auto asked = question();
    asked.alloc = std::string{row->alloc->id()};
    return said(explained(asked).alloc->waits);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Waiting,
                  "waits: an evaluation waits for its turn, or for a broker that is paused") {
  CHECK(with_eval([](auto) {}) == "evaluation X waits for a scheduler");
  apply([](schema::Command::Builder command) {
    command.initSchedulerConfiguration().setPauseEvalBroker(true);
  });
  CHECK(said(group().waits) == "evaluation X waits: the eval broker is paused");
}

TEST_CASE_FIXTURE(Waiting, "waits: a blocked evaluation waits for a quota") {
  CHECK(with_eval([](schema::Evaluation::Builder eval) {
          eval.setStatus(schema::EvalStatus::BLOCKED);
          eval.setQuotaLimitReached("small");
        })
        == "evaluation X is blocked until the quota \"small\" has room");
}

TEST_CASE_FIXTURE(Waiting, "waits: conflicts with other plans are told") {
  CHECK(with_eval([](schema::Evaluation::Builder eval) {
          eval.setStatus(schema::EvalStatus::BLOCKED);
          eval.setTriggeredBy(schema::EvalTrigger::MAX_PLAN_ATTEMPTS);
        })
        == "evaluation X is blocked: its plans and those of others came in each other's way");
}

TEST_CASE("waits: a client that is away is given up at a time, other evaluations begin at one") {
  const auto told = [](schema::EvalTrigger trigger) {
    Waiting world;
    return world.with_eval([&](schema::Evaluation::Builder eval) {
      eval.setWaitUntil(world.now + 60 * second);
      eval.setTriggeredBy(trigger);
    });
  };
  CHECK(told(schema::EvalTrigger::MAX_DISCONNECT_TIMEOUT)
        == "evaluation X gives up at 2023-11-14T22:14:20Z what a client that is away has");
  CHECK(told(schema::EvalTrigger::SCHEDULED) == "evaluation X begins at 2023-11-14T22:14:20Z");
}

TEST_CASE_FIXTURE(Waiting, "waits: deployments wait for regions, canaries, promotions and health") {
  using Is = schema::DeploymentState;
  CHECK(with_deployment(Is::BLOCKED, [](auto) {}) == "deployment X waits for other regions");
  CHECK(with_deployment(Is::RUNNING, [](auto group) { group.setDesiredCanaries(1); })
        == "deployment X waits for the promotion of its canaries");
  CHECK(with_deployment(Is::RUNNING,
                        [](auto group) {
                          group.setDesiredCanaries(1);
                          group.setAutoPromote(true);
                        })
        == "deployment X waits until its canaries are healthy");
}

TEST_CASE_FIXTURE(
    Waiting, "waits: an allocation of which nothing was heard, that is away, that is to stop") {
  const auto node = add_node();
  process(register_job(make_job(1)));
  const auto row = live().at(0);
  CHECK(of_alloc(row) == "its node has not told of its tasks yet");

  report(row, schema::ClientStatus::UNKNOWN);
  CHECK(of_alloc(row) == "its client is away");

  apply([](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId("web");
  });
  process(evaluate(schema::EvalTrigger::JOB_DEREGISTER));
  CHECK(of_alloc(row) == "it is told to stop");

  apply([&](schema::Command::Builder command) {
    command.initNodeDeregister().initNodeIds(1).set(0, text(node));
  });
  CHECK(of_alloc(row).starts_with("its node is gone; "));
}

TEST_CASE("waits: what is launched waits for its launch") {
  const auto told = [](const Harness::EditJob& edit) {
    Waiting world;
    world.register_job(world.make_job(1, edit));
    return said(world.group().waits);
  };
  CHECK(told([](schema::Job::Builder job) { job.initParameterizedJob(); })
        == "the job is launched by job dispatch");
  CHECK(told([](schema::Job::Builder job) { job.initPeriodic(); })
        == "the job is periodic: what it launches is placed");
}

TEST_CASE_FIXTURE(ExplainHarness,
                  "waits: an evaluation that nobody has begun, and one that is blocked") {
  const auto eval = register_job(make_job(1));
  CHECK(texts(group().waits) == "pending-evaluation");

  process(eval);

  const auto waits = group().waits;
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].what == "blocked-evaluation");
  CHECK(waits[0].text
        == "evaluation " + waits[0].id.substr(0, 8)
               + " is blocked until a node that may run it has room");
}

TEST_CASE_FIXTURE(ExplainHarness, "waits: what has failed is tried again after its delay") {
  add_node();
  process(register_job(make_job(1)));
  const auto first = live().at(0);
  report(first, schema::ClientStatus::FAILED);
  process(evaluate(schema::EvalTrigger::ALLOC_FAILURE));
  auto asked = question();
  asked.alloc = std::string{first->alloc->id()};

  const auto answer = explained(asked);

  CHECK(texts(answer.groups.at(0).waits) == "reschedule-delay");
  CHECK(texts(answer.alloc->waits) == "reschedule-delay");
  CHECK(answer.alloc->waits[0].text.ends_with(" what has failed"));
}

TEST_CASE_FIXTURE(ExplainHarness, "waits: a deployment says what it waits for") {
  add_node();
  process(register_job(make_job(
      2, [](schema::Job::Builder job) { job.getTaskGroups()[0].initUpdate().setMaxParallel(1); })));
  CHECK(texts(group().waits) == "deployment");
  CHECK(group().waits.at(0).text.ends_with("waits for health: 0 of 2 are healthy"));

  apply([&](schema::Command::Builder command) {
    auto update = command.initDeploymentStatusUpdate().initUpdate();
    update.setDeploymentId(state().latest_deployment("default", "web")->getId());
    update.setStatus(schema::DeploymentState::PAUSED);
  });
  CHECK(group().waits.at(0).text.ends_with("is paused"));
}

TEST_CASE_FIXTURE(ExplainHarness, "waits: a stopped job waits for nothing else") {
  register_job(make_job(1));
  apply([](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId("web");
  });
  CHECK(texts(group().waits) == "stopped");
}

TEST_CASE_FIXTURE(ExplainHarness,
                  "waits: an allocation whose prestart task runs, and one whose node is down") {
  const auto node = add_node();
  process(register_job(make_job(1, [](schema::Job::Builder job) {
    auto group = job.getTaskGroups()[0];
    Draft<schema::Task> sample{group.getTasks()[0].asReader()};
    auto tasks = group.initTasks(2);
    tasks.setWithCaveats(0, sample.reader());
    tasks.setWithCaveats(1, sample.reader());
    tasks[0].setName("first");
    tasks[0].initLifecycle().setHook("prestart");
  })));
  const auto row = live().at(0);
  apply([&](schema::Command::Builder command) {
    auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
    alloc.setId(text(row->alloc->id()));
    alloc.setNodeId(text(row->alloc->node_id()));
    alloc.setClientStatus(schema::ClientStatus::PENDING);
    auto states = alloc.initTaskStates(2);
    states[0].setKey("first");
    states[0].initValue().setState(schema::TaskRunState::RUNNING);
    states[1].setKey("server");
    auto event = states[1].initValue().initEvents(1)[0];
    event.setDisplayMessage("Downloading image");
  });
  auto asked = question();
  asked.alloc = std::string{row->alloc->id()};

  const auto waits = explained(asked).alloc->waits;

  CHECK(texts(waits) == "prestart; task");
  CHECK(waits.at(0).text == "prestart task \"first\" runs; others begin after it");
  CHECK(waits.at(1).text == "task \"server\" has not begun: Downloading image");
  set_status(node, schema::NodeStatus::DOWN);
  CHECK(texts(explained(asked).alloc->waits).starts_with("node; "));
}
