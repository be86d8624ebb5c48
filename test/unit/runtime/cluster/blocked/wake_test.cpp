// Whatever happens to nodes, nothing waits that could be placed.
#include "runtime/cluster/blocked/wake.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/object/entries.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using cluster::BlockedEval;
using cluster::BlockedEvals;

namespace {

/// What may change of a node.
struct NodeFacts {
  std::string datacenter = "dc1";
  std::string pool = "default";
  std::string rack = "r1";
  std::string zone{};         ///< An attribute; empty: it is not there.
  std::string unique = "u1";  ///< An attribute that escapes classes.
  std::string cls = "small";
  std::map<std::string, bool> drivers{{"mock_driver", true}};  ///< And whether each is healthy.
  std::set<std::string> volumes{};
  unsigned devices = 0;
  unsigned sick_devices = 0;
  std::int64_t cpu = 1000;
};

/// Nodes that change, jobs that wait, and who wakes them, as the broker does.
struct WakingCluster : Harness {
  explicit WakingCluster(std::uint64_t seed) : draw{seed} { random = Random{seed + 1000}; }

  Random draw;
  BlockedEvals blocked;
  std::map<std::string, Object<schema::Evaluation>> waiting;
  std::map<std::string, NodeFacts> nodes;

  template <class Fill>
  void change(Fill fill) {
    const auto outcome = apply(fill);
    REQUIRE_FALSE(outcome.error);
    work(cluster::wake(blocked, outcome, state()));
  }

  /// All that are awake are decided until none is.
  void work(std::vector<BlockedEval> woken) {
    while (!woken.empty()) {
      auto next = woken.back();
      woken.pop_back();
      const auto eval = waiting.extract(next.id).mapped();
      const auto done = process(eval);
      for (auto& more : track(done))
        woken.push_back(std::move(more));
    }
  }

  /// Those of its job that wait from now on; those that were woken meanwhile.
  std::vector<BlockedEval> track(const Object<schema::Evaluation>& done) {
    std::vector<BlockedEval> missed;
    const auto snapshot = state();
    const auto block = [&](const Object<schema::Evaluation>& eval) {
      if (!eval || eval->getStatus() != schema::EvalStatus::BLOCKED) return;
      waiting.insert_or_assign(copy(eval->getId()), eval);
      if (auto again = blocked.block(cluster::blocked_of(*eval))) missed.push_back(*again);
    };
    block(done);
    if (done->getBlockedEval().size() > 0) block(snapshot.eval(view(done->getBlockedEval())));
    return missed;
  }

  void put_node(const std::string& id, const NodeFacts& facts) {
    nodes[id] = facts;
    change([&](schema::Command::Builder command) {
      auto node = command.initNodeRegister().initNode();
      node.setId(text(id));
      node.setName(text(id));
      node.setDatacenter(text(facts.datacenter));
      node.setNodePool(text(facts.pool));
      node.setNodeClass(text(facts.cls));
      node.setStatus(schema::NodeStatus::READY);
      auto resources = node.initNodeResources();
      resources.initCpu().setCpuShares(facts.cpu);
      resources.initMemory().setMemoryMb(8000);
      resources.initDisk().setDiskMb(100'000);
      fill_devices(resources, facts);
      std::map<std::string, std::string> attributes{{"kernel.name", "linux"},
                                                    {"unique.mark", facts.unique}};
      if (!facts.zone.empty()) attributes["zone"] = facts.zone;
      fill_entries(node.initAttributes(static_cast<unsigned>(attributes.size())), attributes);
      fill_entries(node.initMeta(1), {{"rack", facts.rack}});
      auto drivers = node.initDrivers(static_cast<unsigned>(facts.drivers.size()));
      unsigned at = 0;
      for (const auto& [driver, is_healthy] : facts.drivers) {
        drivers[at].setKey(text(driver));
        auto info = drivers[at++].initValue();
        info.setDetected(true);
        info.setHealthy(is_healthy);
      }
      auto volumes = node.initHostVolumes(static_cast<unsigned>(facts.volumes.size()));
      at = 0;
      for (const auto& volume : facts.volumes) {
        volumes[at].setKey(text(volume));
        volumes[at++].initValue().setName(text(volume));
      }
      node.setComputedClass(text(computed_class(node.asReader())));
    });
  }

  static void fill_devices(schema::NodeResources::Builder resources, const NodeFacts& facts) {
    if (facts.devices == 0) return;
    auto group = resources.initDevices(1)[0];
    group.setVendor("acme");
    group.setType("gadget");
    group.setName("x");
    auto instances = group.initInstances(facts.devices);
    for (unsigned i = 0; i < facts.devices; ++i) {
      instances[i].setId(text(std::to_string(i)));
      instances[i].setHealthy(i >= facts.sick_devices);
    }
  }

  void change_facts(NodeFacts& facts) {
    switch (draw.below(11)) {
      case 0:
        facts.datacenter = facts.datacenter == "dc1" ? "dc2" : "dc1";
        return;
      case 1:
        facts.pool = facts.pool == "default" ? "gpu" : "default";
        return;
      case 2:
        facts.rack = facts.rack == "r1" ? "r2" : "r1";
        return;
      case 3:
        facts.zone = facts.zone.empty() ? "z1" : "";
        return;
      case 4:
        facts.unique = facts.unique == "u1" ? "u2" : "u1";
        return;
      case 5:
        facts.cls = facts.cls == "small" ? "large" : "small";
        return;
      case 6:
      case 7: {
        const auto* const driver = draw.chance(0.5) ? "mock_driver" : "naps";
        const auto known = facts.drivers.find(driver);
        if (known == facts.drivers.end())
          facts.drivers[driver] = true;
        else if (draw.chance(0.7))
          known->second = !known->second;
        else
          facts.drivers.erase(known);
        return;
      }
      case 8:
        if (facts.volumes.erase("data") == 0) facts.volumes.insert("data");
        return;
      case 9:
        facts.devices = 2;
        facts.sick_devices = static_cast<unsigned>(draw.below(3));
        return;
      default:
        facts.cpu = facts.cpu == 1000 ? 500 : 1000;
    }
  }

  /// A job that wants one or two of the things that nodes may lack.
  Object<schema::Job> some_job(const std::string& id) {
    const auto wanted = static_cast<unsigned>(draw.below(8));
    return make_job(1 + static_cast<std::int64_t>(draw.below(3)), [&](schema::Job::Builder job) {
      job.setId(text(id));
      job.setName(text(id));
      auto group = job.getTaskGroups()[0];
      auto task = group.getTasks()[0];
      const auto constrain = [&job](const char* left, const char* right) {
        auto constraint = job.initConstraints(1)[0];
        constraint.setLTarget(left);
        constraint.setRTarget(right);
        constraint.setOperand("=");
      };
      if (draw.chance(0.3)) task.setDriver("naps");
      if (wanted == 0) job.getDatacenters().set(0, "dc2");
      if (wanted == 1) job.setNodePool("gpu");
      if (wanted == 2) constrain("${meta.rack}", "r2");
      if (wanted == 3) constrain("${attr.zone}", "z1");
      if (wanted == 4) constrain("${attr.unique.mark}", "u2");
      if (wanted == 5) constrain("${node.class}", "large");
      if (wanted == 6) {
        auto volume = group.initVolumes(1)[0];
        volume.setKey("data");
        volume.initValue().setName("data");
        volume.getValue().setType("host");
        volume.getValue().setSource("data");
      }
      if (wanted == 7) {
        auto device = task.getResources().initDevices(1)[0];
        device.setName("acme/gadget");
        device.setCount(1);
      }
    });
  }

  void step() {
    const auto kind = draw.below(10);
    if (kind == 0) {
      const auto job = some_job("job-" + std::to_string(draw.below(8)));
      blocked.untrack("default", view(job->getId()));
      work(track(process(register_job(job))));
      return;
    }
    const auto id = "node-" + std::to_string(draw.below(4));
    const auto known = nodes.find(id);
    if (known == nodes.end()) return put_node(id, {});
    if (kind == 1) return end_something(id);
    if (kind == 2) return change_status(id);
    if (kind == 3) return change_eligibility(id);
    if (kind == 4) return change_settings();
    auto facts = known->second;
    change_facts(facts);
    put_node(id, facts);
  }

  void end_something(const std::string& id) {
    const auto snapshot = state();
    for (const auto& entry : snapshot.allocs_by_node(id)) {
      if (entry.value()->client_terminal) continue;
      change([&](schema::Command::Builder command) {
        auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
        alloc.setId(text(entry.value()->alloc->id()));
        alloc.setNodeId(text(id));
        alloc.setClientStatus(schema::ClientStatus::COMPLETE);
      });
      return;
    }
  }

  void change_status(const std::string& id) {
    const auto up = state().node(id)->getStatus() == schema::NodeStatus::READY;
    change([&](schema::Command::Builder command) {
      auto update = command.initNodeStatusUpdate();
      update.setNodeId(text(id));
      update.setStatus(up ? schema::NodeStatus::INITIALIZING : schema::NodeStatus::READY);
    });
  }

  void change_eligibility(const std::string& id) {
    using Eligibility = schema::SchedulingEligibility;
    const bool takes = state().node(id)->getSchedulingEligibility() == Eligibility::ELIGIBLE;
    change([&](schema::Command::Builder command) {
      auto update = command.initNodeEligibilityUpdate();
      update.setNodeId(text(id));
      update.setEligibility(takes ? Eligibility::INELIGIBLE : Eligibility::ELIGIBLE);
    });
  }

  void change_settings() {
    const bool preempts = draw.chance(0.5);
    change([&](schema::Command::Builder command) {
      auto settings = command.initSchedulerConfiguration();
      settings.setSchedulerAlgorithm("binpack");
      settings.initPreemptionConfig().setServiceSchedulerEnabled(preempts);
    });
  }

  /// A pass over all nodes, of each that waits, would find no place.
  void check() {
    const auto snapshot = state();
    for (const auto& each : waiting) {
      const auto& eval = each.second;
      const auto job = snapshot.job("default", view(eval->getJobId()));
      if (!job || snapshot.eval(each.first)->getStatus() != schema::EvalStatus::BLOCKED) continue;
      auto scheduler = make_scheduler(eval, seed++);
      const auto pass = scheduler->start({snapshot, now, nullptr});
      CAPTURE(std::string{eval->toString().flatten().cStr()});
      REQUIRE_FALSE(pass.plan);
    }
  }
};

}  // namespace

TEST_CASE("wake: whatever happens to nodes, nothing waits that could be placed") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    WakingCluster cluster{seed};
    cluster.put_node("node-0", {.pool = "gpu"});  // a pool is there once a node is in it
    for (int step = 0; step < 120; ++step) {
      CAPTURE(step);
      cluster.step();
      cluster.check();
    }
  }
}

TEST_CASE("wake: a driver that is healthy again wakes what found it sick") {
  WakingCluster cluster{1};
  NodeFacts facts;
  facts.drivers["naps"] = false;
  cluster.put_node("node-0", facts);
  cluster.work(cluster.track(
      cluster.process(cluster.register_job(cluster.make_job(1, [](schema::Job::Builder job) {
        job.getTaskGroups()[0].getTasks()[0].setDriver("naps");
      })))));
  CHECK(cluster.live().empty());
  CHECK(cluster.waiting.size() == 1);

  facts.drivers["naps"] = true;
  cluster.put_node("node-0", facts);
  CHECK(cluster.live().size() == 1);
}

TEST_CASE("wake: more room in a quota wakes who waits for it, and nodes do not") {
  WakingCluster cluster{1};
  cluster.put_node("node-0", {.cpu = 4000});
  const auto put_quota = [&](std::int64_t cpu) {
    cluster.change([cpu](schema::Command::Builder command) {
      auto quota = command.initQuotaUpsert();
      quota.setName("small");
      auto limit = quota.initLimits(1)[0];
      limit.setRegion("global");
      limit.initRegionLimit().setCpu(cpu);
    });
  };
  const auto put_namespace = [&](const char* quota) {
    cluster.change([quota](schema::Command::Builder command) {
      auto ns = command.initNamespaceUpsert();
      ns.setName("default");
      ns.setQuota(quota);
    });
  };
  put_quota(1000);
  put_namespace("small");
  cluster.work(cluster.track(cluster.process(cluster.register_job(cluster.make_job(4)))));
  CHECK(cluster.live().size() == 2);
  REQUIRE(cluster.waiting.size() == 1);
  const auto waits = cluster.waiting.begin()->second;
  CHECK_FALSE(cluster::blocked_of(*waits).needs_nodes);
  cluster.put_node("node-1", {.cpu = 4000});
  CHECK(cluster.waiting.begin()->second->getModifyIndex() == waits->getModifyIndex());

  put_quota(1500);
  CHECK(cluster.live().size() == 3);
  CHECK(cluster.waiting.size() == 1);
  const auto since = cluster.next_index;
  put_namespace("");
  CHECK(cluster.live().size() == 4);
  CHECK(cluster.waiting.empty());

  BlockedEvals begins;  // of who leads next
  cluster::note_past(begins, cluster.state(), since);
  BlockedEval old;
  old.id = "a";
  old.snapshot_index = since;
  old.quota = "small";
  old.needs_nodes = false;
  CHECK(begins.block(old));
}

TEST_CASE("wake: who begins to lead knows what grew before") {
  WakingCluster cluster{1};
  cluster.put_node("node-0", {});
  const auto since = cluster.next_index;
  cluster.change_settings();
  BlockedEvals blocked;
  cluster::note_past(blocked, cluster.state(), since);
  BlockedEval waits;
  waits.id = "a";
  waits.snapshot_index = since;
  CHECK(blocked.block(waits));
  waits.snapshot_index = cluster.next_index;
  CHECK_FALSE(blocked.block(waits));
}
