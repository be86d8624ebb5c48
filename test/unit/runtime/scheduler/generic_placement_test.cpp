// Where the scheduler of service and batch jobs places, on a real state store.
#include <map>
#include <set>
#include <string>

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::EvalStatus;
using schema::EvalTrigger;

TEST_CASE_FIXTURE(Harness, "constraints, drivers and datacenters filter nodes") {
  add_node([](schema::Node::Builder node) { node.setDatacenter("dc2"); });
  add_node([](schema::Node::Builder node) { node.initAttributes(0); });
  add_node([](schema::Node::Builder node) { node.getAttributes()[1].setValue("windows"); });
  const auto eval = process(register_job(make_job(1, [](schema::Job::Builder job) {
    job.getDatacenters().set(0, "dc1");
    auto constraint = job.initConstraints(1)[0];
    constraint.setLTarget("${attr.kernel.name}");
    constraint.setOperand("=");
    constraint.setRTarget("linux");
  })));
  CHECK(live().empty());
  REQUIRE(eval->getFailedTgAllocs().size() == 1);
  const auto metric = eval->getFailedTgAllocs()[0].getValue();
  CHECK(metric.getNodesEvaluated() == 2);
  CHECK(metric.getNodesFiltered() == 2);
  CHECK(metric.getNodesInPool() == 2);
  REQUIRE(metric.getConstraintFiltered().size() == 1);
  CHECK(view(metric.getConstraintFiltered()[0].getKey()) == "${attr.kernel.name} = linux");
  CHECK(metric.getConstraintFiltered()[0].getValue() == 2);
}

TEST_CASE_FIXTURE(Harness, "ports: dynamic ones differ, a static one is given once a node") {
  add_node();
  process(register_job(make_job(3, [](schema::Job::Builder job) {
    auto network = job.getTaskGroups()[0].initNetworks(1)[0];
    auto port = network.initDynamicPorts(1)[0];
    port.setLabel("http");
    port.setTo(-1);
  })));
  std::set<int> values;
  for (const auto& row : live()) {
    const auto ports = row->alloc->resources().getShared().getPorts();
    REQUIRE(ports.size() == 1);
    CHECK(ports[0].getValue() >= 20'000);
    CHECK(ports[0].getValue() <= 32'000);
    CHECK(ports[0].getTo() == ports[0].getValue());
    CHECK(view(ports[0].getHostIp()) == "10.0.0.1");
    values.insert(ports[0].getValue());
  }
  CHECK(values.size() == 3);

  const auto eval = process(register_job(make_job(2, [](schema::Job::Builder job) {
    job.setId("fixed");
    job.setName("fixed");
    auto port = job.getTaskGroups()[0].initNetworks(1)[0].initReservedPorts(1)[0];
    port.setLabel("http");
    port.setValue(8080);
  })));
  CHECK(live("fixed").size() == 1);
  const auto metric = eval->getFailedTgAllocs()[0].getValue();
  CHECK(view(metric.getDimensionExhausted()[0].getKey())
        == "network: reserved port collision http=8080");
}

TEST_CASE_FIXTURE(Harness, "distinct_hosts and distinct_property") {
  for (int i = 0; i < 4; ++i) {
    add_node([i](schema::Node::Builder node) {
      auto meta = node.initMeta(1)[0];
      meta.setKey("rack");
      meta.setValue(i < 2 ? "r1" : "r2");
    });
  }
  process(register_job(make_job(5, [](schema::Job::Builder job) {
    job.initConstraints(1)[0].setOperand("distinct_hosts");
  })));
  CHECK(live().size() == 4);
  std::set<std::string> nodes;
  for (const auto& row : live())
    nodes.insert(std::string{row->alloc->node_id()});
  CHECK(nodes.size() == 4);
  process(register_job(make_job(5, [](schema::Job::Builder job) {
    job.setId("racks");
    job.setName("racks");
    auto constraint = job.initConstraints(1)[0];
    constraint.setOperand("distinct_property");
    constraint.setLTarget("${meta.rack}");
    constraint.setRTarget("2");
  })));
  CHECK(live("racks").size() == 4);
}

TEST_CASE_FIXTURE(Harness, "a spread over racks is even") {
  for (int i = 0; i < 4; ++i) {
    add_node([i](schema::Node::Builder node) {
      auto meta = node.initMeta(1)[0];
      meta.setKey("rack");
      meta.setValue(i < 2 ? "r1" : "r2");
    });
  }
  process(register_job(make_job(10, [](schema::Job::Builder job) {
    auto spread = job.initSpreads(1)[0];
    spread.setAttribute("${meta.rack}");
    spread.setWeight(100);
  })));
  std::map<std::string, int> racks;
  for (const auto& row : live())
    ++racks[copy(state().node(row->alloc->node_id())->getMeta()[0].getValue())];
  CHECK(racks["r1"] == 5);
  CHECK(racks["r2"] == 5);
}
