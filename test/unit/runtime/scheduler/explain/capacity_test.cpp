#include "runtime/scheduler/explain/capacity.hpp"

#include "test/unit/runtime/scheduler/explain/explain_harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct Capacities : ExplainHarness {
  explain::GroupCapacity counted() const {
    const auto all = explain::capacity(state(), question());
    REQUIRE(all.has_value());
    return all->at(0);
  }

  /// Registers "web" with so many more than live, and returns how many live then.
  std::size_t live_after_more(const Object<schema::Job>& job, std::int64_t more) {
    Draft<schema::Job> draft{job};
    draft->getTaskGroups()[0].setCount(static_cast<std::int64_t>(live().size()) + more);
    process(register_job(draft.freeze()));
    return live().size();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Capacities, "capacity: amounts are divided, and what ends first is told") {
  add_node();  // 4,000 MHz, 8,000 MiB: 8 of 500 MHz
  add_node(
      [](schema::Node::Builder node) { node.getNodeResources().getMemory().setMemoryMb(600); });
  add_node([](schema::Node::Builder node) { node.setStatus(schema::NodeStatus::DOWN); });
  process(register_job(make_job(1)));

  const auto group = counted();

  CHECK(group.live == 1);
  CHECK(group.more == 9);
  CHECK(group.nodes == 2);
  CHECK(group.looked_at == 3);
  CHECK_FALSE(group.is_bounded);
  REQUIRE(group.binds.size() == 2);
  CHECK(group.binds[0].nodes == 1);
  CHECK(group.in_quota == -1);
  CHECK(group.largest.at(0).more + group.largest.at(1).more == 9);
}

TEST_CASE_FIXTURE(Capacities,
                  "capacity: ports, cores and distinct properties are given out one by one") {
  for (int i = 0; i < 4; ++i)
    add_node([i](schema::Node::Builder node) { set_meta(node, "rack", i < 2 ? "r1" : "r2"); });
  const auto job = make_job(0, [](schema::Job::Builder builder) {
    auto port = builder.getTaskGroups()[0].initNetworks(1)[0].initReservedPorts(1)[0];
    port.setLabel("http");
    port.setValue(80);
    constrain(builder.initConstraints(1)[0], "${meta.rack}", "distinct_property", "1");
  });
  process(register_job(job));

  CHECK(counted().more == 2);
  CHECK(live_after_more(job, 5) == 2);
}

TEST_CASE_FIXTURE(Capacities, "capacity: is what the scheduler places, on random clusters") {
  Random draw{7};
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    Capacities world;
    for (std::uint64_t i = 0; i < 1 + draw.below(4); ++i)
      world.add_node([&](schema::Node::Builder node) {
        node.getNodeResources().getCpu().setCpuShares(static_cast<std::int64_t>(draw.below(3'000)));
        node.getNodeResources().getMemory().setMemoryMb(
            static_cast<std::int64_t>(draw.below(2'000)));
      });
    const bool has_port = draw.chance(0.3);
    const bool distinct = draw.chance(0.3);
    const auto job = world.make_job(
        static_cast<std::int64_t>(draw.below(3)), [&](schema::Job::Builder builder) {
          if (has_port)
            builder.getTaskGroups()[0].initNetworks(1)[0].initDynamicPorts(1)[0].setLabel("p");
          if (distinct) constrain(builder.initConstraints(1)[0], "", "distinct_hosts", "true");
        });
    world.process(world.register_job(job));
    const auto before = world.live().size();
    const auto more = world.counted().more;
    CHECK(world.live_after_more(job, more + 3) == before + static_cast<std::size_t>(more));
  }
}

TEST_CASE_FIXTURE(Capacities, "capacity: a system job takes each node once") {
  for (int i = 0; i < 3; ++i)
    add_node();
  const auto job = make_job(1, [](schema::Job::Builder builder) { builder.setType("system"); });
  register_job(job);
  CHECK(counted().more == 3);
  process(evaluate(schema::EvalTrigger::JOB_REGISTER));
  CHECK(counted().more == 0);
  add_node();
  CHECK(counted().more == 1);
}

TEST_CASE_FIXTURE(Capacities, "capacity: a quota is told besides") {
  apply([](schema::Command::Builder command) {
    auto quota = command.initQuotaUpsert();
    quota.setName("small");
    auto limit = quota.initLimits(1)[0];
    limit.setRegion("global");
    limit.initRegionLimit().setMemoryMb(800);
  });
  apply([](schema::Command::Builder command) {
    auto ns = command.initNamespaceUpsert();
    ns.setName("default");
    ns.setQuota("small");
  });
  add_node();
  process(register_job(make_job(1)));
  CHECK(counted().more == 7);
  CHECK(counted().in_quota == 2);
}

TEST_CASE_FIXTURE(Capacities, "capacity: is counted up to a bound, and what is not there is said") {
  add_node([](schema::Node::Builder node) {
    node.getNodeResources().getCpu().setCpuShares(std::int64_t{1} << 60);
    node.getNodeResources().getMemory().setMemoryMb(std::int64_t{1} << 60);
    node.getNodeResources().getDisk().setDiskMb(std::int64_t{1} << 60);
  });
  add_node();
  register_job(make_job(0));
  CHECK(counted().more == explain::most_counted);
  CHECK(counted().is_bounded);
  auto asked = question();
  asked.group = "none";
  CHECK(explain::capacity(state(), asked).error().what == "group \"none\" not found");
  asked.job_id = "none";
  CHECK(explain::capacity(state(), asked).error().what == "job not found");
}
