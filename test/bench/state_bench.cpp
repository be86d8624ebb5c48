// state_bench: what the state store costs: inserts and updates per second, a snapshot, a list, a
// look-up, and memory, at 1,000,000 allocations (or as many as the first argument says).
//
// Allocations are like those of small service jobs: 10 to a job, 200 to a node, one port and one
// task each, placed by plans of 100, published once per plan. Memory is what malloc has handed out.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <malloc.h>

#include "runtime/base/ids.hpp"
#include "runtime/base/random.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/state/store.hpp"

namespace {

using namespace nomad;
using namespace nomad::state;

/// Of processor time, so that what else runs on the machine counts less.
struct Clock {
  using time_point = std::clock_t;

  static time_point now() { return std::clock(); }
};

double seconds_since(Clock::time_point start) {
  return static_cast<double>(Clock::now() - start) / CLOCKS_PER_SEC;
}

std::size_t allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct World {
  Store store;
  Index index = 10;
  Random random{1};
  std::vector<std::string> nodes;
  std::vector<std::string> allocs;
  std::vector<Object<schema::Command>> commands;

  void apply_all() {
    for (const auto& command : commands) {
      const Outcome outcome = store.apply(++index, *command);
      if (outcome.error || (!outcome.plans.empty() && outcome.plans[0])) {
        std::fprintf(stderr, "a command was refused\n");
        std::exit(1);
      }
      store.publish();
    }
    commands.clear();
  }
};

std::string job_name(std::size_t number) {
  return "service-" + std::to_string(number);
}

void register_jobs(World& world, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Draft<schema::Command> command;
    auto job = command->initJobRegister().initJob();
    job.setId(text(job_name(i)));
    job.setNamespace("default");
    job.setType("service");
    job.initTaskGroups(1)[0].setName("api");
    world.commands.push_back(command.freeze());
  }
  world.apply_all();
}

void fill(World& world,
          schema::Allocation::Builder alloc,
          std::size_t number,
          std::string_view eval) {
  const std::string job = job_name(number / 10);
  alloc.setId(text(world.allocs[number]));
  alloc.setNamespace("default");
  alloc.setEvalId(text(eval));
  alloc.setName(text(job + ".api[" + std::to_string(number % 10) + "]"));
  alloc.setNodeId(text(world.nodes[world.random.below(world.nodes.size())]));
  alloc.setNodeName("client-with-a-name");
  alloc.setJobId(text(job));
  alloc.setJobCreateIndex(11 + number / 10);
  alloc.setTaskGroup("api");
  auto resources = alloc.initAllocatedResources();
  auto task = resources.initTasks(1)[0];
  task.setKey("server");
  task.initValue().initCpu().setCpuShares(100);
  task.getValue().initMemory().setMemoryMb(256);
  resources.initShared().setDiskMb(300);
  auto port = resources.getShared().initPorts(1)[0];
  port.setLabel("http");
  port.setValue(static_cast<std::int32_t>(20000 + world.random.below(12000)));
  port.setHostIp("10.0.0.1");
}

void make_plans(World& world, std::size_t first, std::size_t count) {
  for (std::size_t done = 0; done < count; done += 100) {
    const std::string eval = make_uuid(world.random);
    Draft<schema::Command> command;
    auto plan = command->initPlanResults().initPlans(1)[0];
    plan.setModifyTime(1);
    auto placed = plan.initPlaced(static_cast<unsigned>(std::min<std::size_t>(100, count - done)));
    for (unsigned i = 0; i < placed.size(); ++i)
      fill(world, placed[i], first + done + i, eval);
    plan.initMetrics(1)[0].setNodesEvaluated(5000);
    world.commands.push_back(command.freeze());
  }
}

void make_updates(World& world, std::size_t count) {
  for (std::size_t done = 0; done < count; done += 100) {
    Draft<schema::Command> command;
    for (auto alloc : command->initAllocClientUpdate().initAllocations(100)) {
      alloc.setId(text(world.allocs[world.random.below(world.allocs.size())]));
      alloc.setClientStatus(schema::ClientStatus::RUNNING);
      auto state = alloc.initTaskStates(1)[0];
      state.setKey("server");
      auto events = state.initValue().initEvents(3);
      for (auto event : events) {
        event.setType("Started");
        event.setDisplayMessage("Task started by client");
      }
    }
    world.commands.push_back(command.freeze());
  }
}

void print(const char* what, double value, const char* unit) {
  std::printf("%-52s %14.1f %s\n", what, value, unit);
  std::fflush(stdout);
}

double place(World& world, std::size_t first, std::size_t count, std::size_t chunk) {
  double spent = 0;
  for (const std::size_t end = first + count; first < end; first += chunk) {
    make_plans(world, first, std::min(chunk, end - first));  // not measured
    const auto start = Clock::now();
    world.apply_all();
    spent += seconds_since(start);
  }
  return static_cast<double>(count) / spent;
}

void measure_changes(World& world) {
  constexpr std::size_t updates = 100'000;
  make_updates(world, updates);
  auto start = Clock::now();
  world.apply_all();
  print("client updates, 100 per command", updates / seconds_since(start), "per s");

  constexpr std::size_t kept = 100;
  std::vector<Snapshot> snapshots;  // readers that hold on, so that every path is copied
  make_updates(world, updates);
  start = Clock::now();
  for (std::size_t i = 0; !world.commands.empty(); ++i) {
    const Object<schema::Command> command = std::move(world.commands.back());
    world.commands.pop_back();
    world.store.apply(++world.index, *command);
    world.store.publish();
    if (snapshots.size() < kept) snapshots.emplace_back();
    snapshots[i % kept] = world.store.snapshot();
  }
  print("the same while 100 snapshots are held", updates / seconds_since(start), "per s");
}

void measure_reads(World& world) {
  constexpr int rounds = 1'000'000;
  auto start = Clock::now();
  Index sum = 0;
  for (int i = 0; i < rounds; ++i)
    sum += world.store.snapshot().index();
  print("a snapshot", seconds_since(start) / rounds * 1e9, "ns");

  const Snapshot now = world.store.snapshot();
  start = Clock::now();
  for (int i = 0; i < rounds; ++i)
    sum += now.alloc(world.allocs[world.random.below(world.allocs.size())])->terminal() ? 1 : 0;
  print("an allocation by id", seconds_since(start) / rounds * 1e9, "ns");

  start = Clock::now();
  std::size_t listed = 0;
  for (int i = 0; i < 1000; ++i)
    for (const auto& entry :
         now.allocs_by_node(world.nodes[world.random.below(world.nodes.size())]))
      listed += entry.value()->terminal() ? 0 : 1;
  print("a row of a node's list", seconds_since(start) / static_cast<double>(listed) * 1e9, "ns");

  start = Clock::now();
  listed = 0;
  const std::size_t jobs = (world.allocs.size() + 9) / 10;
  for (int i = 0; i < 100'000; ++i)
    for (const auto& entry : now.allocs_by_job("default", job_name(world.random.below(jobs))))
      listed += entry.value()->terminal() ? 0 : 1;
  print("a row of a job's list", seconds_since(start) / static_cast<double>(listed) * 1e9, "ns");

  start = Clock::now();
  listed = 0;
  for (const auto& entry : now.allocs_by_create())
    listed += entry.value()->alloc->create_index() > 0 ? 1 : 0;
  print("a row of the whole list", seconds_since(start) / static_cast<double>(listed) * 1e9, "ns");
  if (sum == 0) std::printf("\n");  // the reads are not to be optimized away
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  if (count < 2000) {
    std::fprintf(stderr, "usage: state_bench [allocations, at least 2000]\n");
    return 2;
  }
  constexpr std::size_t singles = 1000;
  World world;
  for (std::size_t i = 0; i < count / 200; ++i)
    world.nodes.push_back(make_uuid(world.random));
  for (std::size_t i = 0; i < count; ++i)
    world.allocs.push_back(make_uuid(world.random));
  register_jobs(world, (count + 9) / 10);
  std::printf("%zu allocations, %zu nodes, %zu jobs\n", count, world.nodes.size(), count / 10);

  const std::size_t before = allocated();
  const double rate = place(world, 0, count - singles, 50'000);
  print("allocations placed, plans of 100", rate, "per s");
  const Snapshot now = world.store.snapshot();
  const double placed = static_cast<double>(count - singles);
  print("memory per allocation, with all indexes",
        static_cast<double>(allocated() - before) / placed, "bytes");
  print("  of these its object",
        static_cast<double>(now.alloc(world.allocs[0])->alloc.size_in_bytes()), "bytes");
  for (std::size_t i = 0; i < singles; ++i)
    make_plans(world, count - singles + i, 1);
  const auto start = Clock::now();
  world.apply_all();
  print("the last 1,000 placed one by one", singles / seconds_since(start), "per s");
  measure_changes(world);
  measure_reads(world);
  return 0;
}
