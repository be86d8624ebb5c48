#include "runtime/scheduler/explain/changes.hpp"

#include "test/unit/runtime/scheduler/explain/explain_harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

/// What would help for "web" where its only node is `edit`.
struct Remedies : ExplainHarness {
  std::string for_node(const EditNode& edit, const EditJob& job = {}) {
    add_node(edit);
    register_job(make_job(1, job));
    return texts(group().suggestions);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Remedies, "changes: a constraint is left out") {
  CHECK(for_node({},
                 [](schema::Job::Builder job) {
                   auto constraints = job.initConstraints(2);
                   constrain(constraints[0], "${attr.kernel.name}", "=", "linux");
                   constrain(constraints[1], "${attr.kernel.name}", "!=", "linux");
                 })
        == "without the constraint ${attr.kernel.name} != linux");
}

TEST_CASE_FIXTURE(Remedies, "changes: a constraint of a task is left out, too") {
  CHECK(for_node({},
                 [](schema::Job::Builder job) {
                   auto task = job.getTaskGroups()[0].getTasks()[0];
                   constrain(task.initConstraints(1)[0], "${meta.rack}", "is_set", "");
                 })
        == "without the constraint ${meta.rack} is_set ");
}

TEST_CASE_FIXTURE(Remedies, "changes: a driver comes to the node") {
  CHECK(for_node({},
                 [](schema::Job::Builder job) {
                   job.getTaskGroups()[0].getTasks()[0].setDriver("docker");
                 })
        == "driver \"docker\" on the node");
}

TEST_CASE_FIXTURE(Remedies, "changes: a driver that is there becomes healthy") {
  CHECK(for_node(
            [](schema::Node::Builder node) {
              auto driver = node.initDrivers(1)[0];
              driver.setKey("docker");
              driver.initValue().setDetected(true);
            },
            [](schema::Job::Builder job) {
              job.getTaskGroups()[0].getTasks()[0].setDriver("docker");
            })
        == "driver \"docker\" healthy there");
}

TEST_CASE_FIXTURE(Remedies, "changes: a node becomes ready, eligible, or ends its drain") {
  CHECK(for_node([](schema::Node::Builder node) { node.setStatus(schema::NodeStatus::DOWN); })
        == "the node ready (it is down)");
}

TEST_CASE_FIXTURE(Remedies, "changes: an ineligible node becomes eligible") {
  CHECK(for_node([](schema::Node::Builder node) {
          node.setSchedulingEligibility(schema::SchedulingEligibility::INELIGIBLE);
        })
        == "the node eligible");
}

TEST_CASE_FIXTURE(Remedies, "changes: datacenter and pool are those of the node") {
  CHECK(for_node([](schema::Node::Builder node) { node.setNodePool("gpu"); },
                 [](schema::Job::Builder job) { job.initDatacenters(1).set(0, "dc7"); })
        == "node_pool = \"gpu\", and datacenter \"dc1\" among the job's");
}

TEST_CASE_FIXTURE(Remedies, "changes: a volume comes to the node") {
  CHECK(for_node({},
                 [](schema::Job::Builder job) {
                   auto volume = job.getTaskGroups()[0].initVolumes(1)[0];
                   volume.setKey("data");
                   volume.initValue().setType("host");
                   volume.getValue().setSource("data");
                 })
        == "host volume \"data\" on the node");
}

TEST_CASE_FIXTURE(Remedies,
                  "changes: several amounts are lowered together, as far as there is some left") {
  CHECK(for_node(
            [](schema::Node::Builder node) {
              node.getNodeResources().getCpu().setCpuShares(400);
              node.getNodeResources().getMemory().setMemoryMb(200);
              node.getNodeResources().getDisk().setDiskMb(60);
            })
        == "100 MHz less cpu (task \"server\": 500 -> 400), and 56 MiB less memory (task \"server\": "
           "256 -> 200), and 40 MiB less disk (ephemeral_disk: 100 -> 60)");
}

TEST_CASE_FIXTURE(Remedies, "changes: no task is left with nothing") {
  CHECK(for_node(
            [](schema::Node::Builder node) { node.getNodeResources().getMemory().setMemoryMb(5); })
        == "");
}

TEST_CASE_FIXTURE(Remedies, "changes: what would not do is not told") {
  // Without the constraint there is still no room.
  CHECK(for_node(
            [](schema::Node::Builder node) { node.getNodeResources().getMemory().setMemoryMb(5); },
            [](schema::Job::Builder job) {
              constrain(job.initConstraints(1)[0], "${meta.rack}", "is_set", "");
            })
        == "");
}

TEST_CASE_FIXTURE(Remedies, "changes: devices and networks have no remedy") {
  CHECK(for_node({},
                 [](schema::Job::Builder job) {
                   auto device
                       = job.getTaskGroups()[0].getTasks()[0].getResources().initDevices(1)[0];
                   device.setName("gpu");
                   device.setCount(1);
                 })
        == "");
}

TEST_CASE_FIXTURE(Remedies, "changes: a drain ends, and a volume becomes writable") {
  const auto node = add_node([](schema::Node::Builder builder) {
    auto volume = builder.initHostVolumes(1)[0];
    volume.setKey("data");
    volume.initValue().setReadOnly(true);
  });
  apply([&](schema::Command::Builder command) {
    auto update = command.initNodeDrainUpdate();
    update.setNodeId(text(node));
    update.initDrainStrategy();
  });
  register_job(make_job(1, [](schema::Job::Builder job) {
    auto volume = job.getTaskGroups()[0].initVolumes(1)[0];
    volume.setKey("data");
    volume.initValue().setType("host");
    volume.getValue().setSource("data");
  }));
  CHECK(texts(group().suggestions)
        == "the node's drain ended, and host volume \"data\" writable there");
}

TEST_CASE_FIXTURE(Remedies, "changes: fewer cores") {
  const auto with_cores = [](unsigned count) {
    return [count](schema::Node::Builder node) {
      auto cpu = node.getNodeResources().getCpu();
      cpu.setTotalCpuCores(8);
      auto cores = cpu.initReservableCpuCores(count);
      for (unsigned i = 0; i < count; ++i)
        cores.set(i, static_cast<std::uint16_t>(i));
    };
  };
  const auto asks = [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].getResources().setCores(4);
  };
  CHECK(for_node(with_cores(3), asks) == "1 core less (task \"server\": 4 -> 3)");
  Remedies other;
  CHECK(other.for_node(with_cores(2), asks) == "2 cores less (task \"server\": 4 -> 2)");
}
