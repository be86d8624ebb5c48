// runtime/scheduler/placement/preemption: who goes, by priority, distance and what is let off.
#include "runtime/scheduler/placement/preemption.hpp"

#include <functional>
#include <utility>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::scheduler;

namespace {

struct RunningSpec {
  const char* id;
  std::int64_t priority;
  state::Demand demand{};
  std::uint64_t created = 1;
  std::int64_t max_parallel = 0;
  const char* job = nullptr;  ///< Its id unless given.
};

struct FullNode {
  Draft<schema::Job> job;
  std::vector<state::AllocRef> rows;
  PreemptionCounts counts;

  FullNode() {
    job->setId("important");
    job->setNamespace("default");
    job->setPriority(80);
  }

  using EditAlloc = std::function<void(schema::Allocation::Builder)>;

  void run(const RunningSpec& spec, const EditAlloc& edit = {}) {
    Draft<schema::Job> its;
    its->setId(spec.job != nullptr ? spec.job : spec.id);
    its->setNamespace("default");
    its->setPriority(spec.priority);
    auto group = its->initTaskGroups(1)[0];
    group.setName("group");
    if (spec.max_parallel > 0)
      group.initMigrate().setMaxParallel(static_cast<int>(spec.max_parallel));
    Draft<schema::Allocation> alloc;
    alloc->setId(spec.id);
    alloc->setNamespace("default");
    alloc->setJobId(its->getId());
    alloc->setTaskGroup("group");
    alloc->setCreateIndex(spec.created);
    if (edit) edit(*alloc);
    state::AllocRow row;
    row.alloc = alloc.freeze();
    row.job = its.freeze();
    row.demand = spec.demand;
    rows.push_back(state::AllocRef::make(std::move(row)));
  }

  Preemptor preemptor() { return {job.reader(), rows, counts}; }

  static std::string names(const Preempted& chosen) {
    std::string joined;
    for (const auto& row : chosen)
      joined += std::string{row->alloc->id()};
    return joined;
  }

  std::string for_resources(const state::Demand& ask, const state::Demand& free = {}) {
    return names(preemptor().for_resources(ask, free));
  }
};

state::Demand amounts(std::int64_t cpu, std::int64_t memory, std::int64_t disk = 0) {
  return {.cpu_mhz = cpu, .memory_mb = memory, .memory_max_mb = memory, .disk_mb = disk};
}

}  // namespace

TEST_CASE_FIXTURE(FullNode,
                  "preemption: only jobs whose priority is lower by ten, and no own ones") {
  run({"a", 71, amounts(1000, 1000)});
  run({"b", 90, amounts(1000, 1000)});
  run({"c", 1, amounts(1000, 1000), 1, 0, "important"});
  CHECK(for_resources(amounts(500, 500)).empty());
  run({"d", 70, amounts(1000, 1000)});
  CHECK(for_resources(amounts(500, 500)) == "d");
}

TEST_CASE_FIXTURE(FullNode,
                  "preemption: the least important first, then who is nearest to the need") {
  run({"a", 50, amounts(500, 500)});
  run({"b", 20, amounts(4000, 4000)});
  run({"c", 20, amounts(600, 600)});
  CHECK(for_resources(amounts(500, 500)) == "c");
  run({"d", 20, amounts(500, 500)});
  CHECK(for_resources(amounts(500, 500)) == "d");
}

TEST_CASE_FIXTURE(FullNode,
                  "preemption: of equal ones the youngest goes, and then the first by id") {
  run({"b", 20, amounts(500, 500), 7});
  run({"a", 20, amounts(500, 500), 7});
  run({"c", 20, amounts(500, 500), 6});
  CHECK(for_resources(amounts(500, 500)) == "a");
}

TEST_CASE_FIXTURE(FullNode, "preemption: as many as it takes with what is free, or nobody") {
  run({"a", 20, amounts(1000, 100)});
  run({"b", 30, amounts(1000, 100)});
  CHECK(for_resources(amounts(1000, 100)) == "a");
  CHECK(for_resources(amounts(2000, 200)).size() == 2);
  CHECK(for_resources(amounts(2500, 200)).empty());
  CHECK(for_resources(amounts(2500, 200), amounts(500, 0)).size() == 2);
  CHECK(for_resources(amounts(1000, 100, 10)).empty());  // nobody has disk to give
}

TEST_CASE_FIXTURE(FullNode, "preemption: who turns out not to be needed is let off") {
  run({"a", 20, amounts(300, 300)});
  run({"b", 30, amounts(4000, 4000)});
  CHECK(for_resources(amounts(2000, 2000)) == "b");
}

TEST_CASE_FIXTURE(FullNode, "preemption: a group that has lost enough is spared") {
  run({"a", 20, amounts(500, 500), 1, 1});
  run({"b", 20, amounts(900, 900), 1, 1});
  CHECK(for_resources(amounts(500, 500)) == "a");
  counts[{"default", "a", "group"}] = 1;
  CHECK(for_resources(amounts(500, 500)) == "b");
  counts[{"default", "b", "group"}] = 3;
  CHECK(for_resources(amounts(500, 500)) == "a");
}

TEST_CASE_FIXTURE(FullNode, "preemption: who holds a port that is needed") {
  const auto holds = [](std::string_view ip, std::int32_t value) {
    return [ip, value](schema::Allocation::Builder alloc) {
      auto port = alloc.initAllocatedResources().initShared().initPorts(1)[0];
      port.setHostIp(text(std::string{ip}));
      port.setValue(value);
    };
  };
  run({"a", 20}, holds("10.0.0.1", 8080));
  run({"b", 20}, holds("10.0.0.2", 8080));
  run({"c", 75}, holds("10.0.0.1", 9090));
  CHECK(names(preemptor().for_ports({{"10.0.0.1", 8080}})) == "a");
  CHECK(names(preemptor().for_ports({{"10.0.0.2", 8080}, {"10.0.0.1", 8080}})) == "ab");
  CHECK(preemptor().for_ports({{"10.0.0.1", 9090}}).empty());
}

TEST_CASE_FIXTURE(FullNode, "preemption: bandwidth of a device, and the ports on it") {
  const auto uses = [](std::int32_t mbits, std::int32_t port = 0) {
    return [mbits, port](schema::Allocation::Builder alloc) {
      auto network = alloc.initAllocatedResources().initTasks(1)[0].initValue().initNetworks(1)[0];
      network.setDevice("eth0");
      network.setIp("10.0.0.1");
      network.setMBits(mbits);
      if (port > 0) network.initReservedPorts(1)[0].setValue(port);
    };
  };
  run({"a", 20}, uses(300));
  run({"b", 20}, uses(500));
  run({"c", 30}, uses(100, 8080));
  const TaskNetwork eth0{"10.0.0.1", "eth0", 1000};
  Draft<schema::NetworkResource> ask;
  const auto chosen = [&](std::int32_t mbits, std::int32_t port = 0) {
    ask->setMBits(mbits);
    if (port > 0) ask->initReservedPorts(1)[0].setValue(port);
    return names(preemptor().for_task_network(ask.reader(), eth0, 900));
  };
  CHECK(chosen(400) == "a");
  CHECK(chosen(600) == "b");
  CHECK(chosen(1001).empty());
  CHECK(chosen(1000).size() == 3);
  CHECK(chosen(150, 8080) == "c");
  CHECK(chosen(500, 8080) == "cb");
}

TEST_CASE_FIXTURE(FullNode, "preemption: device instances of the group that costs least") {
  Draft<schema::Node> node;
  auto groups = node->initNodeResources().initDevices(2);
  for (unsigned g = 0; g < 2; ++g) {
    groups[g].setVendor("nvidia");
    groups[g].setType("gpu");
    groups[g].setName(g == 0 ? "old" : "new");
    auto instances = groups[g].initInstances(2);
    for (unsigned i = 0; i < 2; ++i) {
      instances[i].setId(text(std::string(1, static_cast<char>('a' + 2 * g + i))));
      instances[i].setHealthy(true);
    }
  }
  const auto holds = [](const char* name, std::vector<const char*> ids) {
    return [name, ids = std::move(ids)](schema::Allocation::Builder alloc) {
      auto device = alloc.initAllocatedResources().initTasks(1)[0].initValue().initDevices(1)[0];
      device.setVendor("nvidia");
      device.setType("gpu");
      device.setName(name);
      auto list = device.initDeviceIds(static_cast<unsigned>(ids.size()));
      for (unsigned i = 0; i < list.size(); ++i)
        list.set(i, ids[i]);
    };
  };
  run({"x", 40}, holds("old", {"a", "b"}));
  run({"y", 20}, holds("new", {"c"}));
  run({"z", 25}, holds("new", {"d"}));
  state::NodeUsage usage;
  for (const auto& row : rows)
    usage.add({}, row->alloc->resources());
  Draft<schema::RequestedDevice> request;
  request->setName("gpu");
  OperandChecker operands;
  const auto chosen = [&](unsigned count) {
    request->setCount(count);
    return names(preemptor().for_device(request.reader(), node.reader(), usage, {}, operands));
  };
  CHECK(chosen(1) == "y");
  CHECK(chosen(2) == "x");  // 40 rather than 20 and 25
  CHECK(chosen(3).empty());
  request->setName("nvidia/gpu/new");
  CHECK(chosen(2).size() == 2);
}

TEST_CASE_FIXTURE(FullNode,
                  "preemption: a node's worth is its highest priority, and more for many") {
  run({"a", 40});
  run({"b", 20});
  CHECK(net_priority(rows) == doctest::Approx(41.5));
  CHECK(net_priority({}) == 0);
  CHECK(preemption_score(2048) == doctest::Approx(0.5));
  CHECK(preemption_score(41.5) > preemption_score(61.5));
}
