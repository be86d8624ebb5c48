// StateFixture: a store and the commands that tests apply to it, with good defaults. A test names
// only what matters to it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "runtime/state/store.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state {

using Counts = std::vector<std::pair<std::string, std::int64_t>>;

inline Counts one_group() {
  return {{"api", 1}};
}

/// What a test says of a job, an evaluation, an allocation, a node.
struct JobSpec {
  std::string id = "web";
  std::string ns = "default";
  std::string type = "service";
  std::string parent = {};
  std::string pool = {};
  bool periodic = false;
  bool stable = false;
  Counts groups = one_group();  // a list here would break g++ 12
};

struct EvalSpec {
  std::string id = "eval";
  std::string job = "web";
  std::string ns = "default";
  schema::EvalStatus status = schema::EvalStatus::PENDING;
  Counts queued = {};
  bool failed_groups = false;
};

struct AllocSpec {
  std::string id = "alloc";
  std::string job = "web";
  std::string ns = "default";
  std::string group = "api";
  std::string node = "node";
  std::string eval = "eval";
  std::string deployment = {};
  std::string previous = {};
  bool canary = false;
  std::int64_t cpu = 100;
  std::int64_t memory = 256;
  std::int64_t disk = 300;
  std::vector<std::uint16_t> ports = {};
  std::uint32_t metric = 0;
};

struct NodeSpec {
  std::string id = "node";
  std::string pool = {};
  schema::NodeStatus status = schema::NodeStatus::READY;
};

inline void fill(schema::Job::Builder job, const JobSpec& spec) {
  job.setId(text(spec.id));
  job.setNamespace(text(spec.ns));
  job.setType(text(spec.type));
  job.setParentId(text(spec.parent));
  job.setNodePool(text(spec.pool));
  job.setStable(spec.stable);
  if (spec.periodic) job.initPeriodic().setEnabled(true);
  auto groups = job.initTaskGroups(static_cast<unsigned>(spec.groups.size()));
  for (unsigned i = 0; i < groups.size(); ++i) {
    groups[i].setName(text(spec.groups[i].first));
    groups[i].setCount(spec.groups[i].second);
  }
}

inline void fill(schema::Evaluation::Builder eval, const EvalSpec& spec) {
  eval.setId(text(spec.id));
  eval.setNamespace(text(spec.ns));
  eval.setJobId(text(spec.job));
  eval.setStatus(spec.status);
  auto queued = eval.initQueuedAllocations(static_cast<unsigned>(spec.queued.size()));
  for (unsigned i = 0; i < queued.size(); ++i) {
    queued[i].setKey(text(spec.queued[i].first));
    queued[i].setValue(spec.queued[i].second);
  }
  if (spec.failed_groups) eval.initFailedTgAllocs(1)[0].setKey("api");
}

inline void fill(schema::Node::Builder node, const NodeSpec& spec) {
  node.setId(text(spec.id));
  node.setName(text(spec.id));
  node.setNodePool(text(spec.pool));
  node.setStatus(spec.status);
}

class StateFixture {
public:
  Store store;
  Index index = 10;

  /// Applies one command at the next index and publishes.
  Outcome run(const std::function<void(schema::Command::Builder)>& build) {
    Draft<schema::Command> command;
    build(*command);
    Outcome outcome = store.apply(++index, command.reader());
    store.publish();
    return outcome;
  }

  Snapshot now() const { return store.snapshot(); }

  Outcome register_job(const JobSpec& spec = {}) {
    return run([&](auto command) { fill(command.initJobRegister().initJob(), spec); });
  }

  Outcome register_job(const JobSpec& spec, const EvalSpec& eval) {
    return run([&](auto command) {
      auto body = command.initJobRegister();
      fill(body.initJob(), spec);
      fill(body.initEvaluation(), eval);
    });
  }

  Outcome deregister(std::string_view id, bool purge) {
    return run([&](auto command) {
      auto body = command.initJobDeregister();
      body.setNamespace("default");
      body.setJobId(text(id));
      body.setPurge(purge);
    });
  }

  Outcome put_eval(const EvalSpec& spec) {
    return run([&](auto command) { fill(command.initEvalUpdate().initEvaluations(1)[0], spec); });
  }

  Outcome register_node(const NodeSpec& spec = {}) {
    return run([&](auto command) { fill(command.initNodeRegister().initNode(), spec); });
  }

  /// Fills a placement of the job's current version.
  void fill(schema::Allocation::Builder alloc, const AllocSpec& spec) const {
    alloc.setId(text(spec.id));
    alloc.setNamespace(text(spec.ns));
    alloc.setEvalId(text(spec.eval));
    alloc.setName(text(spec.job + "." + spec.group + "[0]"));
    alloc.setNodeId(text(spec.node));
    alloc.setJobId(text(spec.job));
    alloc.setTaskGroup(text(spec.group));
    alloc.setMetricNumber(spec.metric);
    alloc.setDeploymentId(text(spec.deployment));
    alloc.setPreviousAllocation(text(spec.previous));
    if (spec.canary) alloc.initDeploymentStatus().setCanary(true);
    if (const auto job = now().job(spec.ns, spec.job)) {
      alloc.setJobVersion(job->getVersion());
      alloc.setJobCreateIndex(job->getCreateIndex());
    }
    auto resources = alloc.initAllocatedResources();
    auto task = resources.initTasks(1)[0];
    task.setKey("server");
    task.initValue().initCpu().setCpuShares(spec.cpu);
    task.getValue().initMemory().setMemoryMb(spec.memory);
    resources.initShared().setDiskMb(spec.disk);
    auto ports = resources.getShared().initPorts(static_cast<unsigned>(spec.ports.size()));
    for (unsigned i = 0; i < ports.size(); ++i)
      ports[i].setValue(spec.ports[i]);
  }

  template <class Builder, class Spec>
  void fill(Builder builder, const Spec& spec) const {
    nomad::state::fill(builder, spec);
  }

  /// One plan with one shared metric that places `specs`.
  Outcome place(const std::vector<AllocSpec>& specs,
                const std::function<void(schema::PlanResult::Builder)>& more = {}) {
    return run([&](auto command) {
      auto plan = command.initPlanResults().initPlans(1)[0];
      plan.setModifyTime(1000);
      if (!specs.empty()) plan.setEvalId(text(specs.front().eval));
      auto placed = plan.initPlaced(static_cast<unsigned>(specs.size()));
      for (unsigned i = 0; i < placed.size(); ++i)
        fill(placed[i], specs[i]);
      plan.initMetrics(1)[0].setNodesEvaluated(7);
      if (more) more(plan);
    });
  }

  Outcome stop(std::string_view id, schema::ClientStatus status = schema::ClientStatus::PENDING) {
    return run([&](auto command) {
      auto alloc = command.initPlanResults().initPlans(1)[0].initStopped(1)[0];
      alloc.setId(text(id));
      alloc.setDesiredDescription("alloc not needed");
      alloc.setClientStatus(status);
    });
  }

  Outcome report(std::string_view id,
                 schema::ClientStatus status,
                 const std::function<void(schema::Allocation::Builder)>& more = {}) {
    return run([&](auto command) {
      auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
      alloc.setId(text(id));
      alloc.setClientStatus(status);
      alloc.setModifyTime(2000);
      if (more) more(alloc);
    });
  }

  /// A running deployment of the job's current version for the group "api".
  Outcome deploy(std::string_view id, std::int64_t total, std::int64_t canaries = 0) {
    return run([&](auto command) {
      auto deployment = command.initPlanResults().initPlans(1)[0].initDeployment();
      deployment.setId(text(id));
      deployment.setNamespace("default");
      deployment.setJobId("web");
      deployment.setStatus(schema::DeploymentState::RUNNING);
      if (const auto job = now().job("default", "web")) {
        deployment.setJobVersion(job->getVersion());
        deployment.setJobCreateIndex(job->getCreateIndex());
      }
      auto entry = deployment.initTaskGroups(1)[0];
      entry.setKey("api");
      entry.initValue().setDesiredTotal(total);
      entry.getValue().setDesiredCanaries(canaries);
      entry.getValue().setProgressDeadline(600);
    });
  }

  std::string job_status(std::string_view id) const {
    const auto job = now().job("default", id);
    return job ? copy(job->getStatus()) : "absent";
  }

  /// "queued starting running complete failed lost unknown" of a group.
  std::string summary(std::string_view id, std::string_view group = "api") const {
    const auto stored = now().job_summary("default", id);
    if (!stored) return "absent";
    for (auto entry : stored->getSummary()) {
      if (view(entry.getKey()) != group) continue;
      const auto counts = entry.getValue();
      std::string joined;
      for (const auto count :
           {counts.getQueued(), counts.getStarting(), counts.getRunning(), counts.getComplete(),
            counts.getFailed(), counts.getLost(), counts.getUnknown()})
        joined += (joined.empty() ? "" : " ") + std::to_string(count);
      return joined;
    }
    return "no group";
  }
};

/// Everything in the tables as text: stored rows in hexadecimal and what derives from them. Two
/// states are equal when this is.
std::vector<std::string> describe(const Snapshot& snapshot);

/// A store with the stored rows of `snapshot` only.
Result<> restore_into(Store& store, const Snapshot& snapshot);

}  // namespace nomad::state
