#include "runtime/scheduler/plan/capacity.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

/// 1,000 MHz, 500 MiB and 200 MiB of disk, of which 100, 50 and 20 are the machine's own.
Capacity small_node() {
  Draft<schema::Node> node;
  auto total = node->initNodeResources();
  total.initCpu().setCpuShares(1000);
  total.getCpu().setTotalCpuCores(3);
  auto cores = total.getCpu().initReservableCpuCores(3);
  cores.set(0, 2);
  cores.set(1, 0);
  cores.set(2, 1);
  total.initMemory().setMemoryMb(500);
  total.initDisk().setDiskMb(200);
  auto reserved = node->initReservedResources();
  reserved.initCpu().setCpuShares(100);
  reserved.initMemory().setMemoryMb(50);
  reserved.initDisk().setDiskMb(20);
  return Capacity::of(node.reader());
}

}  // namespace

TEST_CASE("capacity: what the machine keeps for itself is not given away") {
  const auto capacity = small_node();
  CHECK(capacity.cpu_mhz == 900);
  CHECK(capacity.memory_mb == 450);
  CHECK(capacity.disk_mb == 180);
  CHECK(capacity.total_cpu_mhz == 1000);
  CHECK(capacity.cores == std::vector<std::uint16_t>{0, 1, 2});
}

TEST_CASE("capacity: the last unit of each dimension still fits") {
  const auto capacity = small_node();
  const state::Demand all{900, 450, 450, 180};
  CHECK(capacity.exhausted_by(all).empty());
  CHECK(capacity.exhausted_by({901, 450, 450, 180}) == "cpu");
  CHECK(capacity.exhausted_by({900, 451, 451, 180}) == "memory");
  CHECK(capacity.exhausted_by({900, 450, 450, 181}) == "disk");
  CHECK(capacity.exhausted_by({901, 451, 451, 181}) == "cpu");
}

TEST_CASE("capacity: a reserved core counts for its share of the whole processor") {
  CHECK(small_node().shares_of_cores(2) == 666);
  CHECK(small_node().shares_of_cores(0) == 0);
  CHECK(Capacity{}.shares_of_cores(2) == 0);
}

TEST_CASE("capacity: the share that stays free, below zero when there is too much") {
  const auto capacity = small_node();
  CHECK(capacity.free_share({}).cpu == doctest::Approx(1));
  const auto half = capacity.free_share({450, 900, 900, 0});
  CHECK(half.cpu == doctest::Approx(0.5));
  CHECK(half.memory == doctest::Approx(-1));
  const auto nothing = Capacity{}.free_share({5, 5, 5, 5});
  CHECK(nothing.cpu == 0);
  CHECK(nothing.memory == 0);
}
