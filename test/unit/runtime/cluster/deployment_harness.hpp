// DeploymentHarness: a scheduler's harness in which jobs are deployed, clients report health, and
// the commands of the watcher and of operators are written.
#pragma once

#include "runtime/cluster/deployment_commands.hpp"
#include "runtime/cluster/next_deployment_command.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"

namespace nomad::test {

struct DeploymentHarness : Harness {
  using Harness::write;

  /// A job of `count` allocations in a deployment; `config` makes versions differ.
  std::string deploy(std::int64_t count, const std::string& config, const EditJob& edit = {}) {
    process(register_job(make_job(count, [&](schema::Job::Builder job) {
      auto group = job.getTaskGroups()[0];
      auto update = group.initUpdate();
      update.setMaxParallel(count);
      update.setProgressDeadline(600 * second);
      group.getTasks()[0].setConfig(text(config));
      if (edit) edit(job);
    })));
    return copy(state().latest_deployment("default", "web")->getId());
  }

  cluster::NextDeploymentCommand next(const std::string& id) {
    return cluster::next_deployment_command(state(), id, {now, &random});
  }

  /// Writes a command, and runs the evaluations that follow.
  void write(const Object<schema::Command>& command) {
    REQUIRE(command);
    const auto outcome = store.apply(++next_index, *command);
    store.publish();
    REQUIRE_FALSE(outcome.error);
    for (const auto& eval : outcome.evals)
      if (eval->getStatus() == schema::EvalStatus::PENDING) process(eval);
  }

  void take(const cluster::NextDeploymentCommand& step) { write(step.command); }

  void report_health(const state::AllocRef& row, bool healthy) {
    apply([&](schema::Command::Builder command) {
      auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
      alloc.setId(text(row->alloc->id()));
      alloc.setClientStatus(healthy ? schema::ClientStatus::RUNNING : schema::ClientStatus::FAILED);
      alloc.setModifyTime(now);
      auto health = alloc.initDeploymentStatus();
      health.getHealthy().setValue(healthy);
      health.setTimestamp(now);
    });
  }

  void pause(const std::string& id, bool paused) {
    const auto decision = cluster::decide_pause(state(), anybody(), id, paused, {now, &random});
    REQUIRE(decision.has_value());
    store.apply(++next_index, *decision->command);
    store.publish();
  }

  schema::DeploymentState status(const std::string& id) {
    return state().deployment(id)->getStatus();
  }

  std::string description(const std::string& id) {
    return copy(state().deployment(id)->getStatusDescription());
  }
};

}  // namespace nomad::test
