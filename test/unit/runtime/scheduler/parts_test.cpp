// Small deciding parts: names, reschedule times, comparison of versions, facts of nodes, spreads.
#include "runtime/scheduler/plan/network.hpp"
#include "runtime/scheduler/reconcile/name_index.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"
#include "runtime/scheduler/reconcile/tasks_updated.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE("names: the lowest free ones, then again from the start") {
  CHECK(alloc_name("web", "api", 3) == "web.api[3]");
  CHECK(alloc_index("web.api[12]") == 12);
  CHECK(alloc_index("web.a[1]b[7]") == 7);
  CHECK(alloc_index("nonsense") == 0);
  NameIndex names{"j", "g", 4, {"j.g[1]", "j.g[2]"}};
  CHECK(names.next(3) == std::vector<std::string>{"j.g[0]", "j.g[3]", "j.g[0]"});
  NameIndex more{"j", "g", 2, {"j.g[0]", "j.g[0]", "j.g[5]"}};
  CHECK(more.is_duplicate(0));
  CHECK_FALSE(more.is_duplicate(5));
  CHECK(more.take_highest(2) == std::set<std::string>{"j.g[0]", "j.g[5]"});
  NameIndex again{"j", "g", 2, {"j.g[0]", "j.g[0]"}};
  again.release(0);
  CHECK_FALSE(again.is_duplicate(0));
  CHECK(again.next(1) == std::vector<std::string>{"j.g[1]"});
}

TEST_CASE("names of canaries are those of what they will replace") {
  NameIndex names{"j", "g", 3, {"j.g[0]", "j.g[1]", "j.g[2]"}};
  CHECK(names.next_canaries(2, {"j.g[0]"}, {"j.g[0]", "j.g[1]", "j.g[2]"})
        == std::vector<std::string>{"j.g[1]", "j.g[2]"});
  NameIndex full{"j", "g", 1, {"j.g[0]"}};
  CHECK(full.next_canaries(2, {"j.g[0]"}, {"j.g[0]"})
        == std::vector<std::string>{"j.g[1]", "j.g[2]"});
}

namespace {

struct Failed {
  Draft<schema::Allocation> alloc;
  Draft<schema::ReschedulePolicy> policy;

  void set_delays(std::vector<std::int64_t> delays, std::int64_t last_time) {
    auto events = alloc->initRescheduleTracker().initEvents(static_cast<unsigned>(delays.size()));
    for (unsigned i = 0; i < events.size(); ++i) {
      events[i].setDelay(delays[i]);
      events[i].setRescheduleTime(last_time);
    }
  }

  std::int64_t delay() { return next_delay(alloc.reader(), policy.reader()); }
};

}  // namespace

TEST_CASE_FIXTURE(Failed, "reschedule delays: constant, exponential, fibonacci, capped, healed") {
  alloc->setModifyTime(1000 * second);
  policy->setDelay(5 * second);
  policy->setDelayFunction("constant");
  policy->setMaxDelay(60 * second);
  CHECK(delay() == 5 * second);
  set_delays({5 * second, 10 * second}, 990 * second);
  CHECK(delay() == 5 * second);
  policy->setDelayFunction("exponential");
  CHECK(delay() == 20 * second);
  policy->setDelayFunction("fibonacci");
  CHECK(delay() == 15 * second);
  set_delays({5 * second}, 990 * second);
  CHECK(delay() == 5 * second);
  set_delays({60 * second, 5 * second}, 990 * second);
  CHECK(delay() == 5 * second);
  policy->setDelayFunction("exponential");
  set_delays({40 * second}, 990 * second);
  CHECK(delay() == 60 * second);
  set_delays({40 * second}, 900 * second);  // it ran for longer than max_delay
  CHECK(delay() == 5 * second);
}

TEST_CASE_FIXTURE(Failed, "attempts are counted within the interval") {
  policy->setAttempts(2);
  policy->setInterval(100 * second);
  policy->setDelay(5 * second);
  policy->setDelayFunction("constant");
  const auto eligible = [this](std::int64_t failed_at) {
    return reschedule_time(alloc.reader(), policy.reader(), failed_at).eligible;
  };
  CHECK(eligible(1000 * second));
  set_delays({5 * second, 5 * second}, 950 * second);
  CHECK_FALSE(eligible(1000 * second));
  CHECK(eligible(1060 * second));
  policy->setAttempts(0);
  CHECK_FALSE(eligible(1060 * second));
  policy->setUnlimited(true);
  CHECK(eligible(1000 * second));
}

TEST_CASE_FIXTURE(Harness, "which changes need new allocations") {
  const auto before = make_job(1);
  const auto needs = [&](const EditJob& edit) {
    const auto after = make_job(1, edit);
    return tasks_updated(*before, *after, "api");
  };
  CHECK_FALSE(needs([](schema::Job::Builder) {}));
  const auto group = [](schema::Job::Builder job) { return job.getTaskGroups()[0]; };
  const auto task = [&](schema::Job::Builder job) { return group(job).getTasks()[0]; };
  // In place.
  CHECK_FALSE(needs([&](auto job) { task(job).setKillTimeout(9); }));
  CHECK_FALSE(needs([&](auto job) { task(job).initLogConfig().setMaxFiles(3); }));
  CHECK_FALSE(needs([&](auto job) { task(job).setLeader(true); }));
  CHECK_FALSE(needs([&](auto job) { task(job).initLifecycle().setHook("prestart"); }));
  CHECK_FALSE(needs([&](auto job) { group(job).setCount(7); }));
  CHECK_FALSE(needs([&](auto job) { group(job).initUpdate().setMaxParallel(2); }));
  CHECK_FALSE(needs([&](auto job) { task(job).initServices(1)[0].setName("s"); }));
  CHECK_FALSE(needs([&](auto job) { job.initConstraints(1)[0].setOperand("is_set"); }));
  CHECK_FALSE(needs([&](auto job) { job.setPriority(70); }));
  // Destructive.
  CHECK(needs([&](auto job) { task(job).setDriver("exec"); }));
  CHECK(needs([&](auto job) { task(job).setUser("nobody"); }));
  CHECK(needs([&](auto job) { task(job).setConfig("{}"); }));
  CHECK(needs([&](auto job) { task(job).setName("other"); }));
  CHECK(needs([&](auto job) { task(job).getResources().setCpu(501); }));
  CHECK(needs([&](auto job) { task(job).initLogConfig().setDisabled(true); }));
  CHECK(needs([&](auto job) { task(job).initIdentity().setEnv(true); }));
  CHECK(needs([&](auto job) { task(job).initTemplates(1)[0].setDestPath("x"); }));
  CHECK(needs([&](auto job) { group(job).getEphemeralDisk().setSticky(true); }));
  CHECK(needs([&](auto job) { job.initAffinities(1)[0].setWeight(5); }));
  CHECK(needs([&](auto job) { group(job).initSpreads(1)[0].setWeight(5); }));
  CHECK(needs([&](auto job) { group(job).initNetworks(1)[0].setMode("bridge"); }));
  CHECK(needs([&](auto job) { job.initMeta(1)[0].setKey("k"); }));
}

TEST_CASE_FIXTURE(Harness, "a key that moves between levels of meta changes nothing") {
  const auto with_meta = [this](bool on_job) {
    return make_job(1, [on_job](schema::Job::Builder job) {
      auto task = job.getTaskGroups()[0].getTasks()[0];
      auto meta = on_job ? job.initMeta(1)[0] : task.initMeta(1)[0];
      meta.setKey("k");
      meta.setValue("v");
    });
  };
  CHECK_FALSE(tasks_updated(*with_meta(true), *with_meta(false), "api"));
}

TEST_CASE_FIXTURE(Harness, "ports: values of dynamic ones do not count, labels do") {
  const auto with_port = [this](const char* label, int value) {
    return make_job(1, [&](schema::Job::Builder job) {
      auto port = job.getTaskGroups()[0].initNetworks(1)[0].initDynamicPorts(1)[0];
      port.setLabel(label);
      port.setValue(value);
    });
  };
  CHECK_FALSE(tasks_updated(*with_port("a", 1), *with_port("a", 2), "api"));
  CHECK(tasks_updated(*with_port("a", 1), *with_port("b", 1), "api"));
}

TEST_CASE("facts of a node") {
  Draft<schema::Node> node;
  node->setId("n1");
  node->setName("box");
  node->setDatacenter("dc1");
  node->setNodeClass("big");
  auto attributes = node->initAttributes(1)[0];
  attributes.setKey("os.name");
  attributes.setValue("debian");
  const auto reader = node.reader();
  CHECK(resolve_target("plain", reader) == "plain");
  CHECK(resolve_target("${node.unique.id}", reader) == "n1");
  CHECK(resolve_target("${node.class}", reader) == "big");
  CHECK(resolve_target("${attr.os.name}", reader) == "debian");
  CHECK_FALSE(resolve_target("${attr.os.version}", reader));
  CHECK_FALSE(resolve_target("${meta.x}", reader));
  CHECK_FALSE(resolve_target("${node.unknown}", reader));
  CHECK(interpolate("a-${node.datacenter}-${attr.os.name}-${x}", reader) == "a-dc1-debian-${x}");
  CHECK(target_escapes_class("${attr.unique.hostname}"));
  CHECK(target_escapes_class("${node.unique.name}"));
  CHECK_FALSE(target_escapes_class("${attr.os.name}"));
}

TEST_CASE("the computed class leaves out what is unique") {
  const auto class_of = [](const char* key, const char* value, const char* id) {
    Draft<schema::Node> node;
    node->setId(id);
    node->setDatacenter("dc1");
    auto attribute = node->initAttributes(1)[0];
    attribute.setKey(key);
    attribute.setValue(value);
    return computed_class(node.reader());
  };
  CHECK(class_of("a", "1", "x") == class_of("a", "1", "y"));
  CHECK(class_of("a", "1", "x") != class_of("a", "2", "x"));
  CHECK(class_of("unique.a", "1", "x") == class_of("unique.a", "2", "x"));
  CHECK(class_of("a", "1", "x").starts_with("v1:"));
}

TEST_CASE("datacenters may be patterns") {
  CHECK(matches_glob("*", "dc1"));
  CHECK(matches_glob("dc*", "dc1"));
  CHECK(matches_glob("*-west-*", "us-west-2"));
  CHECK_FALSE(matches_glob("dc*", "eu"));
  CHECK_FALSE(matches_glob("", "dc1"));
  CHECK(matches_glob("a*b*c", "aXbYc"));
  CHECK_FALSE(matches_glob("a*b*c", "aXcYb"));
}

TEST_CASE("networks: reserved ports, aliases and a second address") {
  Draft<schema::Node> node;
  node->initReservedResources().initNetworks().setReservedHostPorts("22");
  auto resources = node->initNodeResources();
  resources.setMinDynamicPort(100);
  resources.setMaxDynamicPort(101);
  auto network = resources.initNodeNetworks(1)[0];
  network.setMode("host");
  auto addresses = network.initAddresses(3);
  addresses[0].setAlias("default");
  addresses[0].setAddress("10.0.0.1");
  addresses[0].setReservedPorts("100-101");
  addresses[1].setAlias("default");
  addresses[1].setAddress("::1");
  addresses[2].setAlias("private");
  addresses[2].setAddress("192.168.0.1");
  const auto made = NodeNetwork::make(node.reader());
  REQUIRE(made.has_value());
  CHECK(made->is_reserved("192.168.0.1", 22));
  CHECK(made->is_reserved("10.0.0.1", 100));
  CHECK_FALSE(made->is_reserved("::1", 100));

  Random random{1};
  const state::NodeUsage unused;
  const auto ask = [&](const char* alias, int fixed) {
    Draft<schema::NetworkResource> request;
    if (fixed > 0) {
      auto port = request->initReservedPorts(1)[0];
      port.setLabel("p");
      port.setValue(fixed);
      port.setHostNetwork(alias);
    } else {
      auto port = request->initDynamicPorts(1)[0];
      port.setLabel("p");
      port.setHostNetwork(alias);
    }
    const auto given = made->assign(request.reader(), node.reader(), unused, random);
    if (!given) return given.error().what;
    const auto& port = fixed > 0 ? given->static_ports[0] : given->dynamic_ports[0];
    return std::string{port.host_ip};
  };
  CHECK(ask("", 0) == "::1");  // the first address has none left
  CHECK(ask("private", 0) == "192.168.0.1");
  CHECK(ask("public", 0) == "no addresses available for public network");
  CHECK(ask("", 22) == "reserved port collision p=22");
  CHECK(ask("", 100) == "reserved port collision p=100");  // statics: the first address only
  CHECK(ask("", 8080) == "10.0.0.1");
  CHECK(ask("", 70'000) == "invalid port 70000 (out of range)");
}
