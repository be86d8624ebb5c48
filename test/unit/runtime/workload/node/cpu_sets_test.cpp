#include "runtime/workload/node/cpu_sets.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad::workload;

TEST_CASE("cpu sets: lists are written as the kernel writes them") {
  CHECK(core_list(CpuSets::Cores{}).empty());
  CHECK(core_list(CpuSets::Cores{0}) == "0");
  CHECK(core_list(CpuSets::Cores{3, 1, 2}) == "1-3");
  CHECK(core_list(CpuSets::Cores{7, 1, 0, 2, 9}) == "0-2,7,9");
  CHECK(core_list(CpuSets::Cores{3, 3, 4, 65535}) == "3-4,65535");
}

TEST_CASE("cpu sets: cores of a list are counted") {
  CHECK(count_cores("") == 0);
  CHECK(count_cores("3") == 1);
  CHECK(count_cores("0-2,7,9") == 5);
  CHECK(count_cores("2-1,x,4-") == 0);
}

TEST_CASE("cpu sets: an allocation reserves what all its tasks do") {
  nomad::Draft<nomad::schema::Allocation> draft;
  CHECK(reserved_cores(draft->asReader()).empty());
  auto tasks = draft->initAllocatedResources().initTasks(3);
  tasks[0].initValue().initCpu().setReservedCores({2, 5});
  tasks[2].initValue().initCpu().setReservedCores({0});

  CHECK(reserved_cores(draft->asReader()) == CpuSets::Cores{2, 5, 0});
  CHECK(core_list(tasks[0].asReader().getValue().getCpu().getReservedCores()) == "2,5");
}

TEST_CASE("cpu sets: tasks without cores share what nobody has reserved") {
  CpuSets sets;
  sets.set_reservable({0, 1, 2, 3});
  CHECK(sets.shared() == "0-3");

  sets.hold("a", {1});
  sets.hold("b", {3});
  sets.hold("c", {});
  CHECK(sets.shared() == "0,2");

  sets.release("a");
  sets.release("c");
  sets.release("never heard of");
  CHECK(sets.shared() == "0-2");
}

TEST_CASE("cpu sets: a core that two allocations name is free when both have ended") {
  CpuSets sets;
  sets.set_reservable({0, 1});
  sets.hold("ends", {1});
  sets.hold("begins", {1});

  sets.release("ends");
  CHECK(sets.shared() == "0");
  sets.release("begins");
  CHECK(sets.shared() == "0-1");
}

TEST_CASE("cpu sets: what an allocation holds is replaced") {
  CpuSets sets;
  sets.set_reservable({0, 1, 2});
  sets.hold("a", {1});
  sets.hold("a", {2});
  CHECK(sets.shared() == "0-1");
  sets.hold("a", {});
  CHECK(sets.shared() == "0-2");
}

TEST_CASE("cpu sets: when every core is reserved the others may use all of the node's") {
  CpuSets sets;
  sets.set_reservable({2, 3});
  sets.hold("a", {2, 3});
  CHECK(sets.shared() == "2-3");
}

TEST_CASE("cpu sets: cores that the node no longer offers do not matter") {
  CpuSets sets;
  sets.hold("a", {0, 1});
  CHECK(sets.shared().empty());
  sets.set_reservable({1, 2});
  CHECK(sets.shared() == "2");
}
