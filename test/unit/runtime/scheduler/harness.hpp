// Harness: a state store and a scheduler without a server. Writes what schedulers decide as the
// plan applier would, and plays the client.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/scheduler/plan/plan_check.hpp"
#include "runtime/scheduler/plan/plan_command.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "runtime/state/store.hpp"
#include "test/support/sample_job.hpp"

namespace nomad::test {

using namespace scheduler;

inline constexpr std::int64_t second = 1'000'000'000;

struct Harness {
  state::Store store;
  Random random{42};
  std::uint64_t next_index = 10;
  std::int64_t now = 1'700'000'000 * second;
  std::uint64_t seed = 1;

  template <class Fill>
  state::Outcome apply(Fill fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    const auto command = draft.freeze();
    auto outcome = store.apply(++next_index, *command);
    store.publish();
    return outcome;
  }

  using EditNode = std::function<void(schema::Node::Builder)>;
  using EditJob = std::function<void(schema::Job::Builder)>;

  /// A ready node of 4,000 MHz, 8,000 MiB and 100,000 MiB of disk, with the mock driver.
  std::string add_node(const EditNode& edit = {}) {
    const auto id = make_uuid(random);
    apply([&](schema::Command::Builder command) {
      auto node = command.initNodeRegister().initNode();
      node.setId(text(id));
      node.setName(text("node-" + id.substr(0, 8)));
      node.setDatacenter("dc1");
      node.setNodePool("default");
      node.setStatus(schema::NodeStatus::READY);
      auto resources = node.initNodeResources();
      resources.initCpu().setCpuShares(4000);
      resources.initMemory().setMemoryMb(8000);
      resources.initDisk().setDiskMb(100'000);
      auto network = resources.initNodeNetworks(1)[0];
      network.setMode("host");
      network.setDevice("eth0");
      auto address = network.initAddresses(1)[0];
      address.setAlias("default");
      address.setAddress("10.0.0.1");
      auto attributes = node.initAttributes(2);
      attributes[0].setKey("driver.mock_driver");
      attributes[0].setValue("1");
      attributes[1].setKey("kernel.name");
      attributes[1].setValue("linux");
      if (edit) edit(node);
      node.setComputedClass(text(computed_class(node.asReader())));
    });
    return id;
  }

  /// A service job "web" of one group "api" with one mock task of 500 MHz and 256 MiB.
  Object<schema::Job> make_job(std::int64_t count, const EditJob& edit = {}) {
    Draft<schema::Job> draft;
    auto group = fill_job(*draft, {.count = count, .memory_mb = 256, .disk_mb = 100});
    auto policy = group.initReschedulePolicy();
    policy.setDelay(30 * second);
    policy.setDelayFunction("exponential");
    policy.setMaxDelay(3600 * second);
    policy.setUnlimited(true);
    group.getTasks()[0].setConfig(R"({"run_for":"10s"})");
    if (edit) edit(*draft);
    return draft.freeze();
  }

  /// Registers the job and returns the evaluation that follows.
  Object<schema::Evaluation> register_job(const Object<schema::Job>& job) {
    const auto id = make_uuid(random);
    const auto outcome = apply([&](schema::Command::Builder command) {
      auto entry = command.initJobRegister();
      entry.setJob(*job);
      fill_eval(entry.initEvaluation(), *job, id, schema::EvalTrigger::JOB_REGISTER);
    });
    REQUIRE_FALSE(outcome.error);
    return state().eval(id);
  }

  void fill_eval(schema::Evaluation::Builder eval,
                 schema::Job::Reader job,
                 const std::string& id,
                 schema::EvalTrigger trigger) {
    eval.setId(text(id));
    eval.setNamespace(job.getNamespace());
    eval.setPriority(job.getPriority());
    eval.setType(job.getType());
    eval.setTriggeredBy(trigger);
    eval.setJobId(job.getId());
    eval.setStatus(schema::EvalStatus::PENDING);
  }

  /// A further evaluation of the job.
  Object<schema::Evaluation> evaluate(schema::EvalTrigger trigger, const char* job_id = "web") {
    const auto id = make_uuid(random);
    const auto job = state().job("default", job_id);
    apply([&](schema::Command::Builder command) {
      fill_eval(command.initEvalUpdate().initEvaluations(1)[0], *job, id, trigger);
    });
    return state().eval(id);
  }

  state::Snapshot state() const { return store.snapshot(); }

  void write(const std::vector<Object<schema::Evaluation>>& evals) {
    if (evals.empty()) return;
    apply([&](schema::Command::Builder command) {
      auto list = command.initEvalUpdate().initEvaluations(static_cast<unsigned>(evals.size()));
      for (unsigned i = 0; i < list.size(); ++i)
        list.setWithCaveats(i, *evals[i]);
    });
  }

  /// Runs the evaluation to its end; returns it as stored then.
  Object<schema::Evaluation> process(const Object<schema::Evaluation>& eval) {
    auto scheduler = make_scheduler(eval, seed++);
    REQUIRE(scheduler != nullptr);
    auto snapshot = state();
    auto step = scheduler->start({snapshot, now, nullptr});
    plans.clear();
    while (step.plan) {
      plans.push_back(*step.plan);
      REQUIRE(plans.size() < 20);
      const auto result = submit(plans.back());
      snapshot = state();
      step = scheduler->resume({snapshot, now, nullptr}, result);
    }
    write(step.evaluations);
    last_updates = scheduler->desired_updates();
    return state().eval(view(eval->getId()));
  }

  /// Verifies and writes a plan.
  PlanResult submit(const Plan& plan) {
    const auto snapshot = state();
    VerifiedPlan verified{&plan, check_plan(plan, snapshot, "global")};
    if (verified.verdict.accepts_nothing) return make_plan_result(verified, snapshot.index());
    const auto command = make_plan_command({verified}, snapshot, now, random);
    const auto outcome = store.apply(++next_index, *command);
    store.publish();
    REQUIRE_FALSE(outcome.error);
    REQUIRE(outcome.plans.size() == 1);
    REQUIRE_FALSE(outcome.plans[0]);
    return make_plan_result(verified, next_index);
  }

  /// The job's allocations, by name.
  std::vector<state::AllocRef> allocs(const char* job_id = "web") const {
    std::vector<state::AllocRef> result;
    const auto snapshot = state();
    for (const auto& entry : snapshot.allocs_by_job("default", job_id))
      result.push_back(entry.value());
    return result;
  }

  std::vector<state::AllocRef> live(const char* job_id = "web") const {
    auto result = allocs(job_id);
    std::erase_if(result, [](const state::AllocRef& row) { return row->terminal(); });
    return result;
  }

  /// The client reports a status, and health if the allocation is part of a deployment.
  void report(const state::AllocRef& row, schema::ClientStatus status, bool healthy = false) {
    apply([&](schema::Command::Builder command) {
      auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
      alloc.setId(text(row->alloc->id()));
      alloc.setNodeId(text(row->alloc->node_id()));
      alloc.setClientStatus(status);
      alloc.setModifyTime(now);
      auto state = alloc.initTaskStates(1)[0];
      state.setKey("server");
      const bool ended
          = status == schema::ClientStatus::FAILED || status == schema::ClientStatus::COMPLETE;
      state.initValue().setState(ended ? schema::TaskRunState::DEAD
                                       : schema::TaskRunState::RUNNING);
      state.getValue().setFailed(status == schema::ClientStatus::FAILED);
      if (ended) state.getValue().setFinishedAt(now);
      if (healthy) {
        auto health = alloc.initDeploymentStatus();
        health.getHealthy().setValue(true);
        health.setTimestamp(now);
      }
    });
  }

  /// The client has ended the task, which did not fail, and says in which order that was.
  void report_killed(const state::AllocRef& row, const std::vector<const char*>& events) {
    apply([&](schema::Command::Builder command) {
      auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
      alloc.setId(text(row->alloc->id()));
      alloc.setNodeId(text(row->alloc->node_id()));
      alloc.setClientStatus(schema::ClientStatus::COMPLETE);
      alloc.setModifyTime(now);
      auto entry = alloc.initTaskStates(1)[0];
      entry.setKey("server");
      entry.initValue().setState(schema::TaskRunState::DEAD);
      entry.getValue().setFinishedAt(now);
      auto list = entry.getValue().initEvents(static_cast<unsigned>(events.size()));
      for (unsigned i = 0; i < list.size(); ++i) {
        list[i].setType(events[i]);
        list[i].setTime(now);
      }
    });
  }

  void report_all_running(bool healthy = false) {
    for (const auto& row : live())
      report(row, schema::ClientStatus::RUNNING, healthy);
  }

  void set_status(const std::string& node, schema::NodeStatus status) {
    apply([&](schema::Command::Builder command) {
      auto update = command.initNodeStatusUpdate();
      update.setNodeId(text(node));
      update.setStatus(status);
    });
  }

  std::vector<Plan> plans;  ///< Of the last evaluation.
  std::map<std::string, DesiredUpdates, std::less<>> last_updates;
};

}  // namespace nomad::test
