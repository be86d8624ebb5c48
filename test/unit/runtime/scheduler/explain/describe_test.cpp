#include "runtime/scheduler/explain/describe.hpp"

#include "test/unit/runtime/scheduler/explain/explain_harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE_FIXTURE(ExplainHarness,
                  "describe: a value of a node is cut, and one that is not there is said") {
  add_node([](schema::Node::Builder node) { set_meta(node, "rack", std::string(500, 'x')); });
  register_job(make_job(1, [](schema::Job::Builder job) {
    auto constraints = job.initConstraints(2);
    constrain(constraints[0], "${meta.rack}", "=", "r");
    constrain(constraints[1], "${meta.zone}", "=", "${meta.rack}");
  }));

  const auto reasons = group().refused.at(0).reasons;

  REQUIRE(reasons.size() == 2);
  CHECK(reasons[0].values.at(0) == std::string(128, 'x') + "...");
  CHECK(reasons[1].subject == "constraint ${meta.zone} = ${meta.rack}");
  CHECK(reasons[1].values.at(0) == "not set and " + std::string(128, 'x') + "...");
}

TEST_CASE_FIXTURE(ExplainHarness, "describe: nodes of one line have some of their values named") {
  for (int i = 0; i < 20; ++i)
    add_node([i](schema::Node::Builder node) { set_meta(node, "rack", "r" + std::to_string(i)); });
  register_job(make_job(1, [](schema::Job::Builder job) {
    constrain(job.initConstraints(1)[0], "${meta.rack}", "=", "none");
  }));

  const auto answer = group();

  REQUIRE(answer.refused.size() == 1);
  CHECK(answer.refused[0].count == 20);
  CHECK(answer.refused[0].reasons.at(0).values.size() == 3);
  CHECK(answer.refused[0].reasons[0].has_more);
}

TEST_CASE_FIXTURE(ExplainHarness, "describe: networks and drivers in words") {
  const auto node = add_node([](schema::Node::Builder builder) {
    auto driver = builder.initDrivers(1)[0];
    driver.setKey("docker");
    driver.initValue().setDetected(true);
    driver.getValue().setHealthDescription("no daemon");
  });
  register_job(make_job(1, [](schema::Job::Builder job) {
    auto group = job.getTaskGroups()[0];
    group.getTasks()[0].setDriver("docker");
    group.initNetworks(1)[0].setMode("bridge");
  }));
  CHECK(texts(ask_node(node).reasons)
        == "driver \"docker\": unhealthy, no daemon; network mode \"bridge\": missing");
}

TEST_CASE_FIXTURE(ExplainHarness, "describe: devices that do for each task are too few for all") {
  const auto node = add_node([](schema::Node::Builder builder) {
    auto device = builder.getNodeResources().initDevices(1)[0];
    device.setType("gpu");
    device.initInstances(1)[0].setId("a");
    device.getInstances()[0].setHealthy(true);
  });
  register_job(make_job(1, [](schema::Job::Builder job) {
    auto devices = job.getTaskGroups()[0].getTasks()[0].getResources().initDevices(2);
    for (auto device : devices) {
      device.setName("gpu");
      device.setCount(1);
    }
  }));
  CHECK(texts(ask_node(node).reasons)
            .starts_with("device \"gpu\", 1 asked: too few for all tasks together"));
}

TEST_CASE_FIXTURE(ExplainHarness,
                  "describe: a node whose reserved ports nobody can read has no ports") {
  const auto node = add_node([](schema::Node::Builder builder) {
    builder.initReservedResources().initNetworks().setReservedHostPorts("none");
  });
  register_job(make_job(1, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].initNetworks(1)[0].initDynamicPorts(1)[0].setLabel("http");
  }));
  CHECK(texts(ask_node(node).reasons) == "network: invalid node");
}
