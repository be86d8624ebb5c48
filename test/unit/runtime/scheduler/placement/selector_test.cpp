// runtime/scheduler/placement/selector: what of a node is given to a task, and which node is
// chosen.
#include "runtime/scheduler/placement/selector.hpp"

#include <map>
#include <set>

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

void with_cores(schema::Node::Builder node, std::initializer_list<std::uint16_t> cores) {
  auto cpu = node.getNodeResources().getCpu();
  cpu.setTotalCpuCores(4);
  auto list = cpu.initReservableCpuCores(static_cast<unsigned>(cores.size()));
  unsigned at = 0;
  for (const auto core : cores)
    list.set(at++, core);
}

struct SelectorHarness : Harness {
  /// Of each task of each allocation: its cores.
  std::vector<std::vector<std::uint16_t>> cores_in_use() {
    std::vector<std::vector<std::uint16_t>> found;
    for (const auto& row : live())
      for (const auto task : row->alloc->resources().getTasks()) {
        auto& cores = found.emplace_back();
        for (const auto core : task.getValue().getCpu().getReservedCores())
          cores.push_back(core);
      }
    return found;
  }

  std::string exhausted(const Object<schema::Evaluation>& eval) {
    if (eval->getFailedTgAllocs().size() == 0) return "";
    const auto dimensions = eval->getFailedTgAllocs()[0].getValue().getDimensionExhausted();
    return dimensions.size() == 0 ? "none" : copy(dimensions[0].getKey());
  }

  void set_algorithm(const char* name) {
    apply([&](schema::Command::Builder command) {
      command.initSchedulerConfiguration().setSchedulerAlgorithm(name);
    });
  }
};

}  // namespace

TEST_CASE_FIXTURE(SelectorHarness,
                  "selector: tasks get whole cores, the lowest first, none twice") {
  add_node([](schema::Node::Builder node) { with_cores(node, {0, 1, 2, 3}); });
  const auto job = make_job(2, [](schema::Job::Builder job) {
    const auto first = job.getTaskGroups()[0].getTasks()[0].asReader();
    Draft<schema::Task> kept{first};
    auto tasks = job.getTaskGroups()[0].initTasks(2);
    for (unsigned at = 0; at < 2; ++at) {
      tasks.setWithCaveats(at, kept.reader());
      tasks[at].setName(at == 0 ? "server" : "helper");
      tasks[at].getResources().setCpu(0);
      tasks[at].getResources().setCores(1);
    }
  });
  CHECK(exhausted(process(register_job(job))).empty());
  const auto cores = cores_in_use();
  REQUIRE(cores.size() == 4);
  std::set<std::uint16_t> all;
  for (const auto& of_task : cores) {
    CHECK(of_task.size() == 1);
    all.insert(of_task.begin(), of_task.end());
  }
  CHECK(all == std::set<std::uint16_t>{0, 1, 2, 3});
  CHECK(live()[0]->alloc->resources().getTasks()[0].getValue().getCpu().getCpuShares() == 1000);
}

TEST_CASE_FIXTURE(SelectorHarness, "selector: a node with too few free cores is full") {
  add_node([](schema::Node::Builder node) { with_cores(node, {1, 2, 3}); });
  const auto job = make_job(2, [](schema::Job::Builder job) {
    job.getTaskGroups()[0].getTasks()[0].getResources().setCpu(0);
    job.getTaskGroups()[0].getTasks()[0].getResources().setCores(2);
  });
  CHECK(exhausted(process(register_job(job))) == "cores");
  REQUIRE(cores_in_use().size() == 1);
  CHECK(cores_in_use()[0] == std::vector<std::uint16_t>{1, 2});
}

TEST_CASE_FIXTURE(SelectorHarness, "selector: a task's own ports are given and not given twice") {
  add_node([](schema::Node::Builder node) {
    auto networks = node.getNodeResources().initNetworks(2);  // the first has no device
    networks[1].setDevice("eth0");
    networks[1].setIp("10.0.0.1");
  });
  const auto job = make_job(2, [](schema::Job::Builder job) {
    auto network = job.getTaskGroups()[0].getTasks()[0].getResources().initNetworks(1)[0];
    auto port = network.initReservedPorts(1)[0];
    port.setLabel("fixed");
    port.setValue(8080);
    network.initDynamicPorts(1)[0].setLabel("drawn");
  });
  CHECK(exhausted(process(register_job(job))).starts_with("network: reserved port collision"));
  REQUIRE(live().size() == 1);
  const auto task = live()[0]->alloc->resources().getTasks()[0].getValue();
  REQUIRE(task.getNetworks().size() == 1);
  CHECK(view(task.getNetworks()[0].getIp()) == "10.0.0.1");
  CHECK(task.getNetworks()[0].getReservedPorts()[0].getValue() == 8080);
  CHECK(task.getNetworks()[0].getDynamicPorts()[0].getValue() >= 20'000);
}

TEST_CASE_FIXTURE(SelectorHarness, "selector: devices are given until there are none") {
  add_node([](schema::Node::Builder node) {
    auto group = node.getNodeResources().initDevices(1)[0];
    group.setVendor("nvidia");
    group.setType("gpu");
    group.setName("1080ti");
    auto instances = group.initInstances(2);
    for (unsigned at = 0; at < 2; ++at) {
      instances[at].setId(at == 0 ? "a" : "b");
      instances[at].setHealthy(true);
    }
  });
  const auto job = make_job(3, [](schema::Job::Builder job) {
    auto device = job.getTaskGroups()[0].getTasks()[0].getResources().initDevices(1)[0];
    device.setName("gpu");
    device.setCount(1);
  });
  CHECK(exhausted(process(register_job(job))) == "devices: no devices match request");
  std::set<std::string> given;
  for (const auto& row : live()) {
    const auto devices = row->alloc->resources().getTasks()[0].getValue().getDevices();
    REQUIRE(devices.size() == 1);
    REQUIRE(devices[0].getDeviceIds().size() == 1);
    given.insert(copy(devices[0].getDeviceIds()[0]));
  }
  CHECK(given == std::set<std::string>{"a", "b"});
}

TEST_CASE_FIXTURE(SelectorHarness,
                  "selector: nodes are filled one by one, or evenly if that is configured") {
  const auto nodes_of_two_jobs = [this](const char* algorithm) {
    set_algorithm(algorithm);
    std::set<std::string> nodes;
    for (const auto* id : {"one", "two"}) {
      process(register_job(make_job(1, [id](schema::Job::Builder job) { job.setId(id); })));
      for (const auto& row : live(id))
        nodes.insert(std::string{row->alloc->node_id()});
    }
    return nodes.size();
  };
  add_node();
  add_node();
  SUBCASE("filled") {
    CHECK(nodes_of_two_jobs("binpack") == 1);
  }
  SUBCASE("evenly") {
    CHECK(nodes_of_two_jobs("spread") == 2);
  }
}

TEST_CASE_FIXTURE(SelectorHarness,
                  "selector: an allocation's metrics count the nodes of each datacenter") {
  add_node();
  add_node();
  add_node([](schema::Node::Builder node) { node.setDatacenter("dc2"); });
  process(register_job(make_job(1)));
  const auto row = live().at(0);
  REQUIRE(row->metric);
  const auto counted = row->metric->getNodesAvailable();
  REQUIRE(counted.size() == 2);
  CHECK(counted[0].getValue() == 2);
  CHECK(counted[1].getValue() == 1);
}

TEST_CASE_FIXTURE(SelectorHarness, "selector: the bandwidth of old jobs is given once") {
  add_node([](schema::Node::Builder node) {
    auto network = node.getNodeResources().initNetworks(1)[0];
    network.setDevice("eth0");
    network.setIp("10.0.0.1");
    network.setMBits(1000);
  });
  const auto asking = [this](const char* id, std::int64_t count, std::int32_t mbits) {
    return make_job(count, [=](schema::Job::Builder job) {
      job.setId(id);
      job.getTaskGroups()[0].getTasks()[0].getResources().initNetworks(1)[0].setMBits(mbits);
    });
  };
  const auto full = process(register_job(asking("first", 3, 400)));
  CHECK(exhausted(full) == "network: bandwidth exceeded");
  CHECK(live("first").size() == 2);
  CHECK(exhausted(process(register_job(asking("second", 1, 201))))
        == "network: bandwidth exceeded");
  CHECK(exhausted(process(register_job(asking("third", 1, 200)))).empty());
  CHECK(exhausted(process(register_job(asking("fourth", 1, 0)))).empty());
  report(live("first")[0], schema::ClientStatus::COMPLETE);
  CHECK(exhausted(process(register_job(asking("fifth", 1, 400)))).empty());
}

TEST_CASE_FIXTURE(SelectorHarness,
                  "selector: how well devices are preferred is a score of its own") {
  add_node([](schema::Node::Builder node) {
    auto group = node.getNodeResources().initDevices(1)[0];
    group.setVendor("nvidia");
    group.setType("gpu");
    group.setName("1080ti");
    auto instance = group.initInstances(1)[0];
    instance.setId("a");
    instance.setHealthy(true);
  });
  const auto scores = [this](std::vector<std::pair<const char*, std::int8_t>> models) {
    process(register_job(make_job(1, [&](schema::Job::Builder job) {
      job.setId("gpu");
      auto device = job.getTaskGroups()[0].getTasks()[0].getResources().initDevices(1)[0];
      device.setName("gpu");
      device.setCount(1);
      auto affinities = device.initAffinities(static_cast<unsigned>(models.size()));
      for (unsigned i = 0; i < affinities.size(); ++i) {
        affinities[i].setLTarget("${device.model}");
        affinities[i].setOperand("=");
        affinities[i].setRTarget(models[i].first);
        affinities[i].setWeight(models[i].second);
      }
    })));
    const auto node = live("gpu").at(0)->metric->getScoreMetaData()[0];
    std::map<std::string, double> found{{"normalized", node.getNormScore()}};
    for (const auto score : node.getScores())
      found.emplace(copy(score.getKey()), score.getValue());
    return found;
  };
  SUBCASE("met in part") {
    const auto found = scores({{"1080ti", 75}, {"2080ti", 25}});
    CHECK(found.at("devices") == doctest::Approx(0.75));
    CHECK(found.at("normalized") == doctest::Approx((found.at("binpack") + 0.75) / 2));
  }
  SUBCASE("not met, which counts") {
    const auto found = scores({{"2080ti", 25}});
    CHECK(found.at("devices") == 0);
    CHECK(found.at("normalized") == doctest::Approx(found.at("binpack") / 2));
  }
  SUBCASE("no preference") {
    CHECK_FALSE(scores({}).contains("devices"));
  }
}

TEST_CASE_FIXTURE(SelectorHarness, "selector: after the preferred node, the others count anew") {
  const auto small
      = [](schema::Node::Builder node) { node.getNodeResources().getCpu().setCpuShares(500); };
  add_node(small);
  const auto job = [this](std::int64_t cpu) {
    return make_job(1, [cpu](schema::Job::Builder job) {
      job.getTaskGroups()[0].getEphemeralDisk().setSticky(true);
      job.getTaskGroups()[0].getTasks()[0].getResources().setCpu(cpu);
    });
  };
  process(register_job(job(500)));
  report_all_running();
  add_node();
  process(register_job(job(1000)));
  REQUIRE(live().size() == 1);
  CHECK(live()[0]->metric->getNodesEvaluated() == 2);
}
