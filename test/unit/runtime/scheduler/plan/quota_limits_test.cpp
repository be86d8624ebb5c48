// What a quota allows, and how it is told what is too much.
#include "runtime/scheduler/plan/quota_limits.hpp"

#include "../quota_harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE_FIXTURE(QuotaHarness, "quota limits: a device is limited by type, vendor or name") {
  limit([](auto resources) {
    auto devices = resources.initDevices(3);
    const char* names[] = {"gpu", "nvidia/gpu", "nvidia/gpu/t4"};
    for (unsigned i = 0; i < 3; ++i) {
      devices[i].setName(names[i]);
      devices[i].setCount(3 - i);
    }
  });
  const auto limits = QuotaLimits::of(state(), "default", "global");
  REQUIRE(limits);
  const auto of = [&](const std::map<std::string, std::int64_t, std::less<>>& devices) {
    state::QuotaUse use;
    use.devices = devices;
    return limits->exceeded({}, use);
  };
  using Texts = std::vector<std::string>;
  CHECK(of({{"nvidia/gpu/t4", 1}, {"nvidia/gpu/a100", 1}, {"amd/gpu/x", 1}, {"intel/fpga/x", 9}})
        == Texts{});
  CHECK(of({{"nvidia/gpu/t4", 2}}) == Texts{"device nvidia/gpu/t4 exhausted (2 needed > 1 limit)"});
  CHECK(of({{"nvidia/gpu/a100", 3}}) == Texts{"device nvidia/gpu exhausted (3 needed > 2 limit)"});
  CHECK(of({{"amd/gpu/x", 4}}) == Texts{"device gpu exhausted (4 needed > 3 limit)"});
}

TEST_CASE_FIXTURE(QuotaHarness, "quota limits: what was in use before the limit may stay") {
  limit([](auto resources) {
    resources.setCores(2);
    resources.setMemoryMb(-1);
  });
  const auto limits = QuotaLimits::of(state(), "default", "global");
  REQUIRE(limits);
  state::QuotaUse before;
  before.cores = 4;
  before.demand.memory_mb = 10;
  auto after = before;
  CHECK(limits->exceeded(before, after).empty());
  after.cores = 5;
  after.demand.memory_mb = 11;
  CHECK(limits->exceeded(before, after)
        == std::vector<std::string>{"memory exhausted (11 needed > 0 limit)",
                                    "cores exhausted (5 needed > 2 limit)"});
}
