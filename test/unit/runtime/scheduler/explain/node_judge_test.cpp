#include "runtime/scheduler/explain/node_judge.hpp"

#include "test/unit/runtime/scheduler/explain/explain_harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE_FIXTURE(ExplainHarness,
                  "node judge: all that is against a node is told, not the first reason alone") {
  const auto node = add_node([](schema::Node::Builder builder) {
    builder.setSchedulingEligibility(schema::SchedulingEligibility::INELIGIBLE);
    builder.setDatacenter("dc9");
    builder.setNodePool("gpu");
    set_meta(builder, "rack", "r1");
    builder.getNodeResources().getMemory().setMemoryMb(100);
    builder.getNodeResources().getDisk().setDiskMb(1);
  });
  register_job(make_job(1, [](schema::Job::Builder job) {
    job.initDatacenters(1).set(0, "dc1");
    constrain(job.initConstraints(1)[0], "${meta.rack}", "=", "r9");
    auto group = job.getTaskGroups()[0];
    group.getTasks()[0].setDriver("docker");
    auto volume = group.initVolumes(1)[0];
    volume.setKey("data");
    volume.initValue().setType("host");
    volume.getValue().setSource("data");
  }));

  CHECK(texts(ask_node(node).reasons)
        == "not eligible; node pool \"default\" asked: gpu; datacenter dc1 asked: dc9; constraint "
           "${meta.rack} = r9: r1; driver \"docker\": missing; host volume \"data\": missing; memory, "
           "256 MiB asked: 100 free; disk, 100 MiB asked: 1 free");
  // Room is not looked at where something else is against the node.
  CHECK(group().refused.at(0).reasons.size() == 6);
}

TEST_CASE_FIXTURE(ExplainHarness, "node judge: a port says who holds it") {
  const auto node = add_node([](schema::Node::Builder builder) {
    builder.initReservedResources().initNetworks().setReservedHostPorts("22");
  });
  const auto with_port = [](int port) {
    return [port](schema::Job::Builder job) {
      auto wanted = job.getTaskGroups()[0].initNetworks(1)[0].initReservedPorts(1)[0];
      wanted.setLabel("http");
      wanted.setValue(port);
    };
  };
  process(register_job(make_job(1, [&](schema::Job::Builder job) {
    with_port(80)(job);
    job.setId("holder");
    job.setName("holder");
  })));
  const auto holder = std::string{live("holder").at(0)->alloc->id().substr(0, 8)};

  register_job(make_job(1, with_port(80)));
  CHECK(texts(ask_node(node).reasons)
        == "port \"http\" (80): held by allocation " + holder + " of job \"holder\"");
  CHECK(texts(group().suggestions) == "port \"http\" not static");
  auto asked = question();
  asked.node = node;
  asked.may_name = [](std::string_view) { return false; };
  CHECK(texts(explained(asked).groups.at(0).asked->reasons)
        == "port \"http\" (80): held by an allocation of another namespace");

  register_job(make_job(1, with_port(22)));
  CHECK(texts(ask_node(node).reasons) == "port \"http\" (22): reserved by the node");
}

TEST_CASE_FIXTURE(ExplainHarness,
                  "node judge: distinct hosts and properties are counted with what runs") {
  const auto first = add_node([](schema::Node::Builder node) { set_meta(node, "rack", "r1"); });
  process(register_job(make_job(2, [](schema::Job::Builder job) {
    auto constraints = job.initConstraints(2);
    constrain(constraints[0], "", "distinct_hosts", "true");
    constrain(constraints[1], "${meta.rack}", "distinct_property", "1");
  })));

  CHECK(live().size() == 1);
  CHECK(texts(ask_node(first).reasons)
        == "distinct_hosts: there is one of the job; distinct_property ${meta.rack} (at most 1): r1 "
           "has 1");
  CHECK(texts(group().suggestions)
        == "without distinct_hosts, and distinct_property ${meta.rack} 1 -> 2; count 2 -> 1");
}

TEST_CASE_FIXTURE(ExplainHarness, "node judge: cores and devices say how many are free") {
  const auto node = add_node([](schema::Node::Builder builder) {
    auto cpu = builder.getNodeResources().getCpu();
    cpu.setTotalCpuCores(4);
    auto cores = cpu.initReservableCpuCores(2);
    cores.set(0, 0);
    cores.set(1, 1);
    auto device = builder.getNodeResources().initDevices(1)[0];
    device.setVendor("nvidia");
    device.setType("gpu");
    device.setName("t4");
    device.initInstances(1)[0].setId("a");
    device.getInstances()[0].setHealthy(true);
  });
  register_job(make_job(1, [](schema::Job::Builder job) {
    auto resources = job.getTaskGroups()[0].getTasks()[0].getResources();
    resources.setCores(3);
    auto device = resources.initDevices(1)[0];
    device.setName("gpu");
    device.setCount(2);
  }));

  CHECK(texts(ask_node(node).reasons)
        == "device \"gpu\", 2 asked: 1 healthy; cores, 3 asked: 2 free");
}

TEST_CASE_FIXTURE(ExplainHarness, "node judge: less important work out of the way counts as room") {
  const auto node = add_node([](schema::Node::Builder builder) {
    builder.getNodeResources().getMemory().setMemoryMb(300);
  });
  process(register_job(make_job(1, [](schema::Job::Builder job) {
    job.setId("low");
    job.setName("low");
    job.setPriority(10);
  })));
  register_job(make_job(1));
  CHECK(group().fitting == 0);

  apply([](schema::Command::Builder command) {
    auto config = command.initSchedulerConfiguration();
    config.initPreemptionConfig().setServiceSchedulerEnabled(true);
  });

  const auto answer = group();
  CHECK(answer.fitting == 1);
  CHECK(answer.preempting == 1);
  CHECK(answer.best.at(0).preempted == 1);
  CHECK(ask_node(node).candidate->preempted == 1);
}
