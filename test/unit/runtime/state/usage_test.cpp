// What allocations take of a node, summed up and given back.
#include "runtime/state/usage.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::state;

namespace {

struct TaskDemand {
  std::string_view name;
  std::string_view hook = {};  ///< Of its lifecycle; empty: a main task.
  bool sidecar = false;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t memory_max = 0;
};

Object<schema::AllocatedResources> resources_of(std::vector<TaskDemand> tasks) {
  std::ranges::sort(tasks, {}, &TaskDemand::name);  // as every list that is a map
  Draft<schema::AllocatedResources> draft;
  const auto count = static_cast<unsigned>(tasks.size());
  auto entries = draft->initTasks(count);
  auto lifecycles = draft->initTaskLifecycles(count);
  for (unsigned i = 0; i < count; ++i) {
    entries[i].setKey(text(tasks[i].name));
    entries[i].initValue().initCpu().setCpuShares(tasks[i].cpu);
    auto memory = entries[i].getValue().initMemory();
    memory.setMemoryMb(tasks[i].memory);
    memory.setMemoryMaxMb(tasks[i].memory_max);
    lifecycles[i].setKey(text(tasks[i].name));
    if (tasks[i].hook.empty()) continue;
    lifecycles[i].initValue().setHook(text(tasks[i].hook));
    lifecycles[i].getValue().setSidecar(tasks[i].sidecar);
  }
  draft->initShared().setDiskMb(300);
  return draft.freeze();
}

Demand demand_of_tasks(const std::vector<TaskDemand>& tasks) {
  return demand_of(*resources_of(tasks));
}

/// Takes these ports by mappings of the address.
Object<schema::AllocatedResources> with_ports(const char* ip, const std::vector<int>& values) {
  Draft<schema::AllocatedResources> draft;
  auto ports = draft->initShared().initPorts(static_cast<unsigned>(values.size()));
  for (unsigned i = 0; i < ports.size(); ++i) {
    ports[i].setHostIp(ip);
    ports[i].setValue(values[i]);
  }
  return draft.freeze();
}

}  // namespace

TEST_CASE("demand: of the phases of an allocation the largest counts, in each dimension") {
  CHECK(demand_of_tasks(
            {{.name = "a", .cpu = 100, .memory = 10}, {.name = "b", .cpu = 200, .memory = 20}})
        == Demand{.cpu_mhz = 300, .memory_mb = 30, .memory_max_mb = 30, .disk_mb = 300});
  const TaskDemand main{.name = "main", .cpu = 100, .memory = 50};
  CHECK(demand_of_tasks({main, {.name = "before", .hook = "prestart", .cpu = 300, .memory = 20}})
        == Demand{.cpu_mhz = 300, .memory_mb = 50, .memory_max_mb = 50, .disk_mb = 300});
  CHECK(demand_of_tasks({main, {.name = "after", .hook = "poststop", .cpu = 40, .memory = 70}})
        == Demand{.cpu_mhz = 100, .memory_mb = 70, .memory_max_mb = 70, .disk_mb = 300});
}

TEST_CASE("demand: sidecars and what is started afterwards run beside the main tasks") {
  const TaskDemand main{.name = "main", .cpu = 100, .memory = 50};
  CHECK(demand_of_tasks({main, {.name = "proxy", .hook = "prestart", .sidecar = true, .cpu = 30}})
            .cpu_mhz
        == 130);
  CHECK(demand_of_tasks({main, {.name = "late", .hook = "poststart", .cpu = 30}}).cpu_mhz == 130);
  // A sidecar runs beside the tasks of every phase.
  CHECK(demand_of_tasks({main,
                         {.name = "proxy", .hook = "prestart", .sidecar = true, .cpu = 30},
                         {.name = "before", .hook = "prestart", .cpu = 300}})
            .cpu_mhz
        == 330);
}

TEST_CASE("demand: the most memory is never less than what is reserved") {
  CHECK(demand_of_tasks({{.name = "a", .memory = 50, .memory_max = 80}}).memory_max_mb == 80);
  CHECK(demand_of_tasks({{.name = "a", .memory = 50, .memory_max = 20}}).memory_max_mb == 50);
}

TEST_CASE("demand: what is added can be taken away again") {
  const Demand one{.cpu_mhz = 1, .memory_mb = 2, .memory_max_mb = 3, .disk_mb = 4};
  Demand sum = one;
  sum += one;
  CHECK(sum == Demand{.cpu_mhz = 2, .memory_mb = 4, .memory_max_mb = 6, .disk_mb = 8});
  sum -= one;
  CHECK(sum == one);
}

TEST_CASE("ports: one that is taken twice is free when both have given it back") {
  UsedPorts ports;
  for (const std::uint16_t port : {0, 63, 64, 1023, 1024, 65535}) {
    CHECK_FALSE(ports.contains(port));
    ports.insert(port);
    CHECK(ports.contains(port));
  }
  CHECK(ports.size() == 6);
  CHECK_FALSE(ports.contains(62));
  CHECK_FALSE(ports.contains(65));
  CHECK(ports.word(0) == ((std::uint64_t{1} << 63) | 1));
  CHECK(ports.word(1) == 1);

  CHECK_FALSE(ports.is_shared(64));
  ports.insert(64);
  ports.insert(64);
  ports.erase(64);
  CHECK(ports.is_shared(64));
  ports.erase(64);
  CHECK_FALSE(ports.is_shared(64));
  CHECK(ports.contains(64));
  ports.erase(64);
  CHECK_FALSE(ports.contains(64));
  CHECK(ports.contains(63));
  CHECK(ports.size() == 5);
  ports.erase(64);  // nobody has it
  CHECK(ports.size() == 5);
}

TEST_CASE("ports: a copy does not change with the original") {
  UsedPorts ports;
  ports.insert(80);
  const auto copied = ports;
  ports.insert(81);
  ports.erase(80);
  CHECK(copied.contains(80));
  CHECK_FALSE(copied.contains(81));
}

TEST_CASE("usage: ports are counted by address, and only those that there are") {
  NodeUsage usage;
  const auto taken = with_ports("10.0.0.1", {0, 1, 65535, 65536, -1});
  usage.add({}, *taken);
  REQUIRE(usage.ports("10.0.0.1") != nullptr);
  CHECK(usage.ports("10.0.0.1")->size() == 2);
  CHECK(usage.port_taken("10.0.0.1", 1));
  CHECK(usage.port_taken("10.0.0.1", 65535));
  CHECK_FALSE(usage.port_taken("10.0.0.2", 1));
  CHECK(usage.ports("10.0.0.2") == nullptr);
  usage.remove({}, *taken);
  CHECK_FALSE(usage.port_taken("10.0.0.1", 1));
  CHECK(usage.empty());
}

TEST_CASE("usage: without port mappings those of the networks count, of group and tasks") {
  Draft<schema::AllocatedResources> draft{resources_of({{.name = "a"}})};
  auto shared = draft->getShared().initNetworks(1)[0];
  shared.setIp("10.0.0.1");
  shared.initReservedPorts(1)[0].setValue(80);
  shared.initDynamicPorts(1)[0].setValue(20'000);
  auto own = draft->getTasks()[0].getValue().initNetworks(1)[0];
  own.setIp("10.0.0.2");
  own.initReservedPorts(1)[0].setValue(90);
  NodeUsage usage;
  usage.add({}, draft.reader());
  CHECK(usage.port_taken("10.0.0.1", 80));
  CHECK(usage.port_taken("10.0.0.1", 20'000));
  CHECK(usage.port_taken("10.0.0.2", 90));

  draft->getShared().initPorts(1)[0].setValue(7);
  NodeUsage mapped;
  mapped.add({}, draft.reader());
  CHECK(mapped.port_taken("", 7));
  CHECK_FALSE(mapped.port_taken("10.0.0.1", 80));
}

TEST_CASE("usage: cores and devices are kept in order, and given back one by one") {
  const auto taking = [](std::uint16_t core, const char* device) {
    Draft<schema::AllocatedResources> draft{resources_of({{.name = "a"}})};
    auto task = draft->getTasks()[0].getValue();
    task.getCpu().initReservedCores(1).set(0, core);
    auto group = task.initDevices(1)[0];
    group.setVendor("nvidia");
    group.setType("gpu");
    group.setName("1080ti");
    group.initDeviceIds(1).set(0, device);
    return draft.freeze();
  };
  const auto first = taking(3, "b");
  const auto second = taking(1, "a");
  NodeUsage usage;
  usage.add({.cpu_mhz = 5}, *first);
  usage.add({.cpu_mhz = 7}, *second);
  usage.add({}, *first);
  CHECK(usage.allocations() == 3);
  CHECK(usage.total().cpu_mhz == 12);
  CHECK(usage.cores() == std::vector<std::uint16_t>{1, 3, 3});
  CHECK(usage.devices()
        == std::vector<std::string>{"nvidia/gpu/1080ti/a", "nvidia/gpu/1080ti/b",
                                    "nvidia/gpu/1080ti/b"});
  usage.remove({.cpu_mhz = 5}, *first);
  CHECK(usage.cores() == std::vector<std::uint16_t>{1, 3});
  CHECK(usage.devices().size() == 2);
  CHECK(usage.total().cpu_mhz == 7);
  usage.remove({.cpu_mhz = 7}, *second);
  CHECK(usage.cores() == std::vector<std::uint16_t>{3});
  CHECK_FALSE(usage.empty());
}
