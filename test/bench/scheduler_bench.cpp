// scheduler_bench: what the schedulers cost, each with verification and apply, without disk.
//
//   scheduler_bench [alike|classes|large|explain [number]]…      all without arguments
//
//   alike    one job of 5,000 tasks (or `number`) and 500 of one task on one node and on 5,000
//   equal
//            ones, and an evaluation that changes nothing;
//   classes  jobs of one task and of 100 on 1,000, 10,000 and 50,000 nodes (or `number`) of 100
//            classes: what an evaluation takes, and what a placement does;
//   large    one job of 50,000 tasks (or `number`) on 5,000 nodes;
//   explain  why a job of which one more is wanted is placed nowhere, or where, on 10,000 nodes (or
//            `number`) of 100 classes, and of as many classes as nodes under 10,000 constraints.
//
// Times are processor time of this thread, so that what else the machine does is not in them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/explain/explain.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "runtime/scheduler/plan/plan_check.hpp"
#include "runtime/scheduler/plan/plan_command.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "runtime/state/store.hpp"
#include "test/support/sample_job.hpp"

namespace {

using namespace nomad;
using namespace nomad::scheduler;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double percentile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

void require(bool done, const std::string& what) {
  if (done) return;
  std::fprintf(stderr, "not done: %s\n", what.c_str());
  std::exit(1);
}

/// What a job of the bench is besides its count.
struct JobShape {
  std::int64_t cpu_mhz = 1;
  std::int64_t memory_mb = 1;
  bool port = false;
  bool constrained = false;  ///< By class: three constraints, which nine in ten nodes meet.
  bool spread = false;       ///< Over racks, and with an affinity: many nodes are compared.
};

struct World {
  state::Store store;
  Random random{1};
  std::uint64_t index = 10;
  double deciding = 0;
  double verifying = 0;
  double applying = 0;
  std::size_t largest_entry = 0;  ///< Bytes.

  template <class Fill>
  state::Outcome apply(Fill fill) {
    Draft<schema::Command> draft;
    fill(*draft);
    return apply(draft.freeze());
  }

  state::Outcome apply(const Object<schema::Command>& command) {
    auto outcome = store.apply(++index, *command);
    store.publish();
    require(!outcome.error, outcome.error ? outcome.error->what : "");
    return outcome;
  }

  /// `kind` is one of 100, which differ in attributes.
  void add_node(std::int64_t cpu_mhz, std::int64_t memory_mb, std::int64_t disk_mb, unsigned kind) {
    apply([&](schema::Command::Builder command) {
      auto node = command.initNodeRegister().initNode();
      const auto id = make_uuid(random);
      node.setId(text(id));
      node.setName(text("node-" + id.substr(0, 8)));
      node.setDatacenter(kind % 4 == 0 ? "dc1" : "dc2");
      node.setNodePool("default");
      node.setStatus(schema::NodeStatus::READY);
      auto resources = node.initNodeResources();
      resources.initCpu().setCpuShares(cpu_mhz);
      resources.initMemory().setMemoryMb(memory_mb);
      resources.initDisk().setDiskMb(disk_mb);
      auto network = resources.initNodeNetworks(1)[0];
      network.setMode("host");
      auto address = network.initAddresses(1)[0];
      address.setAlias("default");
      address.setAddress("10.0.0.1");
      const std::pair<const char*, std::string> facts[]
          = {{"driver.mock_driver", "1"},
             {"kernel.name", "linux"},
             {"kernel.version", "5." + std::to_string(kind % 10) + ".0"},
             {"machine.type", "m" + std::to_string(kind)},
             {"unique.hostname", id}};
      auto attributes = node.initAttributes(std::size(facts));
      for (unsigned i = 0; i < std::size(facts); ++i) {
        attributes[i].setKey(facts[i].first);
        attributes[i].setValue(text(facts[i].second));
      }
      auto meta = node.initMeta(1)[0];
      meta.setKey("rack");
      meta.setValue(text("r" + std::to_string(kind % 20)));
      node.setComputedClass(text(computed_class(node.asReader())));
    });
  }

  static void constrain(schema::Job::Builder job) {
    const char* wanted[][3] = {{"${attr.kernel.name}", "=", "linux"},
                               {"${attr.kernel.version}", "version", ">= 5.1"},
                               {"${attr.machine.type}", "regexp", "^m[0-9]+$"}};
    auto constraints = job.initConstraints(std::size(wanted));
    for (unsigned i = 0; i < std::size(wanted); ++i) {
      constraints[i].setLTarget(wanted[i][0]);
      constraints[i].setOperand(wanted[i][1]);
      constraints[i].setRTarget(wanted[i][2]);
    }
  }

  static void spread(schema::TaskGroup::Builder group) {
    auto spread = group.initSpreads(1)[0];
    spread.setAttribute("${meta.rack}");
    spread.setWeight(50);
    auto affinity = group.initAffinities(1)[0];
    affinity.setLTarget("${node.datacenter}");
    affinity.setOperand("=");
    affinity.setRTarget("dc2");
    affinity.setWeight(50);
  }

  Object<schema::Evaluation> add_job(const std::string& id,
                                     std::int64_t count,
                                     const JobShape& shape) {
    const auto eval_id = make_uuid(random);
    apply([&](schema::Command::Builder command) {
      auto entry = command.initJobRegister();
      auto job = entry.initJob();
      auto group = test::fill_job(job, {.id = id,
                                        .count = count,
                                        .group = "group",
                                        .task = "task",
                                        .cpu = shape.cpu_mhz,
                                        .memory_mb = shape.memory_mb,
                                        .disk_mb = 1});
      if (shape.constrained) constrain(job);
      if (shape.port) group.initNetworks(1)[0].initDynamicPorts(1)[0].setLabel("http");
      if (shape.spread) spread(group);
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

  /// Returns how many it placed.
  std::size_t process(const Object<schema::Evaluation>& eval) {
    std::size_t placed = 0;
    auto scheduler = make_scheduler(eval, random.next());
    auto start = cpu_seconds();
    auto snapshot = store.snapshot();
    auto step = scheduler->start({snapshot, 1, nullptr});
    deciding += cpu_seconds() - start;
    while (step.plan) {
      const auto plan = std::move(*step.plan);
      placed += plan.placement_count();
      start = cpu_seconds();
      snapshot = store.snapshot();
      VerifiedPlan verified{&plan, check_plan(plan, snapshot, "global")};
      const auto command = make_plan_command({verified}, snapshot, 1, random);
      largest_entry = std::max(largest_entry, command.size_in_bytes());
      verifying += cpu_seconds() - start;
      start = cpu_seconds();
      apply(command);
      applying += cpu_seconds() - start;
      start = cpu_seconds();
      snapshot = store.snapshot();
      step = scheduler->resume({snapshot, 1, nullptr}, make_plan_result(verified, index));
      deciding += cpu_seconds() - start;
    }
    return placed;
  }

  double spent() const { return deciding + verifying + applying; }

  void report(const char* what, std::size_t count, const char* unit) {
    std::printf(
        "%-44s %9.0f %s/s  (decide %5.1f, verify %5.1f, apply %5.1f us each)\n", what,
        static_cast<double>(count) / spent(), unit, 1e6 * deciding / static_cast<double>(count),
        1e6 * verifying / static_cast<double>(count), 1e6 * applying / static_cast<double>(count));
    std::fflush(stdout);
    deciding = verifying = applying = 0;
  }
};

void run_alike(std::size_t tasks, std::size_t nodes, bool ports, const char* suffix) {
  World world;
  const auto jobs = tasks / 10;
  const auto size = 10 * static_cast<std::int64_t>(tasks);
  const JobShape shape{.port = ports};
  for (std::size_t i = 0; i < nodes; ++i)
    world.add_node(size, size, size, 0);
  const std::string name{suffix};
  const auto placed
      = world.process(world.add_job("large", static_cast<std::int64_t>(tasks), shape));
  require(placed == tasks, std::to_string(tasks) + " tasks placed, " + name);
  world.report(("one job of " + std::to_string(placed) + " tasks, " + name).c_str(), placed,
               "placements");
  std::size_t done = 0;
  for (std::size_t i = 0; i < jobs; ++i)
    done += world.process(world.add_job("small-" + std::to_string(i), 1, shape));
  require(done == jobs, std::to_string(jobs) + " jobs placed, " + name);
  world.report((std::to_string(done) + " jobs of one task, " + name).c_str(), done, "jobs");
  Draft<schema::Evaluation> again;
  again->setId("00000000-0000-4000-8000-000000000000");
  again->setNamespace("default");
  again->setType("service");
  again->setTriggeredBy(schema::EvalTrigger::NODE_UPDATE);
  again->setJobId("large");
  require(world.process(again.freeze()) == 0, "an evaluation that changes nothing, " + name);
  world.report(("no change of " + std::to_string(placed) + " tasks, " + name).c_str(), placed,
               "allocations");
}

/// `jobs` jobs of `count` tasks each: the whole of an evaluation, decision, check and apply.
void run_jobs(
    World& world, std::size_t jobs, std::int64_t count, JobShape shape, const char* what) {
  std::vector<double> decided;
  std::vector<double> whole;
  std::size_t placed = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    shape.port = i % 2 == 0;
    const auto eval = world.add_job(std::string{what} + "-" + std::to_string(i), count, shape);
    const auto before_deciding = world.deciding;
    const auto before = world.spent();
    placed += world.process(eval);
    decided.push_back(1e6 * (world.deciding - before_deciding));
    whole.push_back(1e6 * (world.spent() - before));
  }
  require(placed == jobs * static_cast<std::size_t>(count), what);
  const auto each = [&](double seconds) { return 1e6 * seconds / static_cast<double>(placed); };
  std::printf(
      "  %-28s evaluation p50 %8.0f p99 %8.0f us, of it deciding p50 %8.0f p99 %8.0f us; %7.1f us "
      "a "
      "placement (decide %.1f, verify %.1f, apply %.1f)\n",
      what, percentile(whole, 0.5), percentile(whole, 0.99), percentile(decided, 0.5),
      percentile(decided, 0.99), each(world.spent()), each(world.deciding), each(world.verifying),
      each(world.applying));
  std::fflush(stdout);
  world.deciding = world.verifying = world.applying = 0;
}

void run_classes(std::size_t nodes) {
  World world;
  constexpr unsigned kinds = 100;
  auto start = cpu_seconds();
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto kind = static_cast<unsigned>(i % kinds);
    const auto size = 1 + static_cast<std::int64_t>(kind % 4);  // 8 to 32 cores' worth
    world.add_node(20'000 * size, 32'000 * size, 500'000, kind);
  }
  std::printf("%zu nodes of %u classes (registered in %.1f s)\n", nodes, kinds,
              cpu_seconds() - start);
  const JobShape shape{.cpu_mhz = 100, .memory_mb = 200, .constrained = true};
  auto spread = shape;
  spread.spread = true;
  run_jobs(world, 1'000, 1, shape, "jobs of one task");
  run_jobs(world, 100, 100, shape, "jobs of 100");
  run_jobs(world, 200, 1, spread, "spread jobs of one task");
  run_jobs(world, 20, 100, spread, "spread jobs of 100");
}

void run_large(std::int64_t count) {
  World world;
  constexpr std::size_t nodes = 5'000;
  for (std::size_t i = 0; i < nodes; ++i)
    world.add_node(40'000, 64'000, 500'000, static_cast<unsigned>(i % 100));
  const auto placed
      = world.process(world.add_job("large", count, {.cpu_mhz = 100, .memory_mb = 200}));
  require(placed == static_cast<std::size_t>(count), "the large job placed");
  std::printf("one job of %zu tasks on %zu nodes: %.2f s, largest entry %.1f MiB\n", placed, nodes,
              world.spent(), static_cast<double>(world.largest_entry) / (1 << 20));
  world.report("  of these", placed, "placements");
}

/// Asks so often, checks each answer by `is_done`, and prints what one took.
template <class IsDone>
void time_explain(World& world, const char* what, IsDone is_done) {
  std::vector<double> took;
  for (int i = 0; i < 20; ++i) {
    const auto snapshot = world.store.snapshot();
    const auto start = cpu_seconds();
    const auto answer = explain::explain(snapshot, {.ns = "default", .job_id = "web", .now = 1});
    took.push_back(1e3 * (cpu_seconds() - start));
    require(answer && is_done(answer->groups.at(0)), what);
  }
  std::printf("  %-52s p50 %7.2f ms, p99 %7.2f ms\n", what, percentile(took, 0.5),
              percentile(took, 0.99));
  std::fflush(stdout);
}

void ask_for(World& world, std::int64_t memory_mb, const JobShape& shape, unsigned constraints) {
  Draft<schema::Job> job;
  auto group = test::fill_job(*job, {.id = "web", .cpu = 100, .memory_mb = memory_mb});
  if (shape.constrained) World::constrain(*job);
  if (shape.spread) World::spread(group);
  if (shape.port) group.initNetworks(1)[0].initDynamicPorts(1)[0].setLabel("http");
  if (constraints > 0) {
    auto list = job->initConstraints(constraints);
    for (unsigned i = 0; i < constraints; ++i) {
      list[i].setLTarget("${meta.rack}");
      list[i].setOperand("!=");
      list[i].setRTarget(text("none-" + std::to_string(i)));
    }
  }
  world.apply(
      [&](schema::Command::Builder command) { command.initJobRegister().setJob(job.reader()); });
}

void run_explain(std::size_t nodes) {
  World world;
  for (std::size_t i = 0; i < nodes; ++i)
    world.add_node(20'000, 1'000 + static_cast<std::int64_t>(i % 1'000), 500'000,
                   static_cast<unsigned>(i % 100));
  world.process(world.add_job("filler", static_cast<std::int64_t>(nodes / 2), {.memory_mb = 100}));
  std::printf("explain on %zu nodes\n", nodes);
  const auto is_whole = [nodes](const explain::GroupAnswer& group) {
    auto refused = group.other_nodes;
    for (const auto& one : group.refused)
      refused += one.count;
    return group.looked_at == nodes && group.fitting + refused == nodes;
  };
  ask_for(world, 5'000, {.constrained = true}, 0);
  time_explain(world, "nothing fits", [&](const explain::GroupAnswer& group) {
    return is_whole(group) && group.fitting == 0 && !group.suggestions.empty();
  });
  ask_for(world, 200, {.constrained = true}, 0);
  time_explain(world, "most fit and are ranked", [&](const explain::GroupAnswer& group) {
    return is_whole(group) && group.fitting > nodes / 2 && group.best.at(0).rank == 1;
  });
  ask_for(world, 200, {.port = true, .constrained = true, .spread = true}, 0);
  time_explain(world, "the same with a port, a spread and an affinity",
               [&](const explain::GroupAnswer& group) {
                 return is_whole(group) && group.fitting > nodes / 2;
               });
  World apart;
  for (std::size_t i = 0; i < nodes; ++i)
    apart.add_node(20'000, 1'000, 500'000, static_cast<unsigned>(i));
  ask_for(apart, 200, {}, 10'000);
  time_explain(
      apart, "each node of a class of its own, 10,000 constraints",
      [&](const explain::GroupAnswer& group) { return is_whole(group) && group.fitting == nodes; });
}

bool is(std::string_view name, const char* argument) {
  return name == argument;
}

}  // namespace

int main(int argc, char** argv) {
  const bool all = argc < 2;
  const auto number = [&](int at, std::size_t otherwise) {
    if (at + 1 >= argc) return otherwise;
    const auto value = std::strtoull(argv[at + 1], nullptr, 10);
    return value > 0 ? static_cast<std::size_t>(value) : otherwise;
  };
  for (int at = all ? 0 : 1; at < argc; ++at) {
    if (all || is("alike", argv[at])) {
      const auto tasks = number(at, 5'000);
      run_alike(tasks, 1, false, "1 node");
      run_alike(tasks, 1, true, "1 node, a port each");
      run_alike(tasks, 5000, false, "5,000 nodes");
    }
    if (all || is("classes", argv[at])) {
      const auto only = number(at, 0);
      for (const std::size_t nodes : {1'000, 10'000, 50'000})
        if (only == 0 || only == nodes) run_classes(nodes);
    }
    if (all || is("large", argv[at])) run_large(static_cast<std::int64_t>(number(at, 50'000)));
    if (all || is("explain", argv[at])) run_explain(number(at, 10'000));
  }
  return 0;
}
