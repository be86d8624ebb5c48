// scheduler_bench: what the schedulers cost, each with verification and apply, without disk:
//   - one job of 5,000 tasks placed on one node (or as many as the first argument says);
//   - 500 jobs of one task each on one node, one plan each;
//   - one job of 5,000 tasks, and 500 of one task, on 5,000 nodes;
//   - an evaluation of the large job that changes nothing.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/scheduler/plan/plan_check.hpp"
#include "runtime/scheduler/plan/plan_command.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "runtime/state/store.hpp"

namespace {

using namespace nomad;
using namespace nomad::scheduler;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct World {
  state::Store store;
  Random random{1};
  std::uint64_t index = 10;
  double deciding = 0;
  double verifying = 0;
  double applying = 0;

  template <class Fill>
  state::Outcome apply(Fill fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    return apply(draft.freeze());
  }

  state::Outcome apply(const Object<schema::Command>& command) {
    auto outcome = store.apply(++index, *command);
    store.publish();
    if (outcome.error) {
      std::fprintf(stderr, "refused: %s\n", outcome.error->what.c_str());
      std::exit(1);
    }
    return outcome;
  }

  void add_node(std::int64_t size) {
    apply([&](schema::Command::Builder command) {
      auto node = command.initNodeRegister().initNode();
      node.setId(text(make_uuid(random)));
      node.setDatacenter("dc1");
      node.setNodePool("default");
      node.setStatus(schema::NodeStatus::READY);
      auto resources = node.initNodeResources();
      resources.initCpu().setCpuShares(10 * size);
      resources.initMemory().setMemoryMb(10 * size);
      resources.initDisk().setDiskMb(10 * size);
      auto network = resources.initNodeNetworks(1)[0];
      network.setMode("host");
      auto address = network.initAddresses(1)[0];
      address.setAlias("default");
      address.setAddress("10.0.0.1");
      auto attributes = node.initAttributes(1);
      attributes[0].setKey("driver.mock_driver");
      attributes[0].setValue("1");
      node.setComputedClass(text(computed_class(node.asReader())));
    });
  }

  Object<schema::Evaluation> add_job(const std::string& id, std::int64_t count, bool ports) {
    const auto eval_id = make_uuid(random);
    apply([&](schema::Command::Builder command) {
      auto entry = command.initJobRegister();
      auto job = entry.initJob();
      job.setId(text(id));
      job.setName(text(id));
      job.setNamespace("default");
      job.setType("service");
      job.setPriority(50);
      job.setNodePool("default");
      job.initDatacenters(1).set(0, "*");
      auto group = job.initTaskGroups(1)[0];
      group.setName("group");
      group.setCount(count);
      group.initEphemeralDisk().setSizeMb(1);
      if (ports) group.initNetworks(1)[0].initDynamicPorts(1)[0].setLabel("http");
      auto task = group.initTasks(1)[0];
      task.setName("task");
      task.setDriver("mock_driver");
      auto resources = task.initResources();
      resources.setCpu(1);
      resources.setMemoryMb(1);
      auto eval = entry.initEvaluation();
      eval.setId(text(eval_id));
      eval.setNamespace("default");
      eval.setPriority(50);
      eval.setType("service");
      eval.setTriggeredBy(schema::EvalTrigger::JOB_REGISTER);
      eval.setJobId(text(id));
      eval.setStatus(schema::EvalStatus::PENDING);
    });
    return store.snapshot().eval(eval_id);
  }

  std::size_t process(const Object<schema::Evaluation>& eval) {
    std::size_t placed = 0;
    auto scheduler = make_scheduler(eval, random.next());
    auto start = Clock::now();
    auto snapshot = store.snapshot();
    auto step = scheduler->start({snapshot, 1, nullptr});
    deciding += seconds_since(start);
    while (step.plan) {
      const auto plan = std::move(*step.plan);
      placed += plan.placement_count();
      start = Clock::now();
      snapshot = store.snapshot();
      VerifiedPlan verified{&plan, check_plan(plan, snapshot)};
      const auto command = make_plan_command({verified}, snapshot, 1, random);
      verifying += seconds_since(start);
      start = Clock::now();
      apply(command);
      applying += seconds_since(start);
      start = Clock::now();
      snapshot = store.snapshot();
      step = scheduler->resume({snapshot, 1, nullptr}, make_plan_result(verified, index));
      deciding += seconds_since(start);
    }
    return placed;
  }

  void report(const char* what, std::size_t count, const char* unit) {
    const double total = deciding + verifying + applying;
    std::printf(
        "%-44s %9.0f %s/s  (decide %5.1f, verify %5.1f, apply %5.1f us each)\n", what,
        static_cast<double>(count) / total, unit, 1e6 * deciding / static_cast<double>(count),
        1e6 * verifying / static_cast<double>(count), 1e6 * applying / static_cast<double>(count));
    deciding = verifying = applying = 0;
  }
};

void run(std::size_t tasks, std::size_t nodes, bool ports, const char* suffix) {
  World world;
  const auto jobs = tasks / 10;
  for (std::size_t i = 0; i < nodes; ++i)
    world.add_node(static_cast<std::int64_t>(tasks));
  const std::string name{suffix};
  const auto placed
      = world.process(world.add_job("large", static_cast<std::int64_t>(tasks), ports));
  world.report(("one job of " + std::to_string(placed) + " tasks, " + name).c_str(), placed,
               "placements");
  std::size_t done = 0;
  for (std::size_t i = 0; i < jobs; ++i)
    done += world.process(world.add_job("small-" + std::to_string(i), 1, ports));
  world.report((std::to_string(done) + " jobs of one task, " + name).c_str(), done, "jobs");
  Draft<schema::Evaluation> again;
  again->setId("00000000-0000-4000-8000-000000000000");
  again->setNamespace("default");
  again->setType("service");
  again->setTriggeredBy(schema::EvalTrigger::NODE_UPDATE);
  again->setJobId("large");
  world.process(again.freeze());
  world.report(("no change of " + std::to_string(placed) + " tasks, " + name).c_str(), placed,
               "allocations");
}

}  // namespace

int main(int argc, char** argv) {
  const auto tasks = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 5000;
  run(tasks, 1, false, "1 node");
  run(tasks, 1, true, "1 node, a port each");
  run(tasks, 5000, false, "5,000 nodes");
  return 0;
}
