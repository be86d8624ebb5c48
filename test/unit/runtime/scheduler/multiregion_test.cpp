// When placements of a job of several regions are held back: while its deployment waits for its
// peers, or is paused, and never else.
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::DeploymentState;
using schema::EvalTrigger;

namespace {

struct Regions : Harness {
  Object<schema::Job> job_of(const char* type, bool is_multiregion) {
    return make_job(2, [=](schema::Job::Builder job) {
      job.setType(type);
      if (is_multiregion) job.setMultiregion(R"({"Regions":[{"Name":"a"},{"Name":"b"}]})");
      auto update = job.getTaskGroups()[0].initUpdate();
      update.setMaxParallel(2);
      update.setHealthCheck("task_states");
      update.setProgressDeadline(600 * second);
    });
  }

  /// Registers the job with a deployment that is initializing; the evaluation that follows.
  Object<schema::Evaluation> register_waiting(const Object<schema::Job>& job) {
    const auto id = make_uuid(random);
    deployment = make_uuid(random);
    const auto outcome = apply([&](schema::Command::Builder command) {
      auto entry = command.initJobRegister();
      entry.setJob(*job);
      auto waiting = entry.initDeployment();
      waiting.setId(text(deployment));
      waiting.setIsMultiregion(true);
      waiting.setStatus(DeploymentState::INITIALIZING);
      fill_eval(entry.initEvaluation(), *job, id, EvalTrigger::JOB_REGISTER);
    });
    REQUIRE_FALSE(outcome.error);
    return state().eval(id);
  }

  void move_to(DeploymentState status) {
    apply([&](schema::Command::Builder command) {
      auto update = command.initDeploymentStatusUpdate().initUpdate();
      update.setDeploymentId(text(deployment));
      update.setStatus(status);
    });
  }

  Object<schema::Deployment> stored() const { return state().deployment(deployment); }

  std::string deployment;
};

}  // namespace

TEST_CASE_FIXTURE(Regions, "multiregion: the first evaluation works out the groups and waits") {
  add_node();
  process(register_waiting(job_of("service", true)));
  CHECK(live().empty());
  CHECK(stored()->getStatus() == DeploymentState::PENDING);
  CHECK(view(stored()->getStatusDescription()) == "Deployment is pending, waiting for peer region");
  REQUIRE(stored()->getTaskGroups().size() == 1);
  CHECK(stored()->getTaskGroups()[0].getValue().getDesiredTotal() == 2);
  CHECK(stored()->getIsMultiregion());

  process(evaluate(EvalTrigger::NODE_UPDATE));
  CHECK(live().empty());

  move_to(DeploymentState::RUNNING);
  process(evaluate(EvalTrigger::DEPLOYMENT_WATCHER));
  CHECK(live().size() == 2);
}

TEST_CASE("multiregion: service jobs are held back exactly while a deployment waits or is paused") {
  const std::pair<DeploymentState, bool> states[]
      = {{DeploymentState::INITIALIZING, true}, {DeploymentState::PENDING, true},
         {DeploymentState::PAUSED, true},       {DeploymentState::RUNNING, false},
         {DeploymentState::BLOCKED, false},     {DeploymentState::UNBLOCKING, false},
         {DeploymentState::SUCCESSFUL, false}};
  for (const bool is_multiregion : {true, false})
    for (const auto& [status, is_held] : states) {
      CAPTURE(is_multiregion);
      const auto shown = static_cast<int>(status);
      CAPTURE(shown);
      Regions regions;
      regions.add_node();
      regions.register_waiting(regions.job_of("service", is_multiregion));
      if (status != DeploymentState::INITIALIZING) regions.move_to(status);
      regions.process(regions.evaluate(EvalTrigger::NODE_UPDATE));
      CHECK(regions.live().empty() == is_held);
    }
}

TEST_CASE("multiregion: without a deployment every type of job is placed at once") {
  for (const auto* type : {"service", "batch", "system", "sysbatch"})
    for (const auto trigger : {EvalTrigger::JOB_REGISTER, EvalTrigger::NODE_UPDATE}) {
      CAPTURE(type);
      Regions regions;
      regions.add_node();
      regions.register_job(regions.job_of(type, true));
      regions.process(regions.evaluate(trigger));
      CHECK_FALSE(regions.live().empty());
    }
}
