#include "test/properties/inventory.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/object/disconnect.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"
#include "test/properties/rules.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {
namespace {

template <std::size_t N>
const char* one_of(Random& random, const std::array<const char*, N>& choices) {
  return choices[random.below(N)];
}

struct Entry {
  const char* key;
  std::string value;
};

/// Entries are sorted by key, as they are when they come from requests.
template <class List>
void fill(List list, std::vector<Entry> entries) {
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::string_view{entry.key}; });
  for (unsigned i = 0; i < entries.size(); ++i) {
    list[i].setKey(entries[i].key);
    list[i].setValue(text(entries[i].value));
  }
}

std::int64_t number(Random& random, std::int64_t from, std::int64_t to) {
  return from + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(to - from + 1)));
}

void fill_networks(schema::NodeResources::Builder resources, Random& random, std::size_t number) {
  const bool has_public = random.chance(0.4);
  auto networks = resources.initNodeNetworks(has_public ? 2 : 1);
  const std::string ip = "10.0.0." + std::to_string(number + 1);
  networks[0].setMode("host");
  networks[0].setDevice("eth0");
  auto address = networks[0].initAddresses(1)[0];
  address.setAlias("default");
  address.setAddress(text(ip));
  if (random.chance(0.2)) address.setReservedPorts("8000");
  if (has_public) {
    networks[1].setMode("host");
    networks[1].setDevice("eth1");
    auto other = networks[1].initAddresses(1)[0];
    other.setAlias("public");
    other.setAddress(text("192.0.2." + std::to_string(number + 1)));
  }
  if (!random.chance(0.4)) return;
  resources.setMinDynamicPort(20'000);
  resources.setMaxDynamicPort(20'000 + static_cast<std::int64_t>(random.below(4)));
}

void fill_devices(schema::NodeResources::Builder resources, Random& random) {
  const auto groups = static_cast<unsigned>(random.below(3));
  auto devices = resources.initDevices(groups);
  for (unsigned i = 0; i < groups; ++i) {
    devices[i].setVendor("nvidia");
    devices[i].setType("gpu");
    devices[i].setName(i == 0 ? "t4" : "v100");
    auto instances = devices[i].initInstances(1 + static_cast<unsigned>(random.below(3)));
    for (unsigned d = 0; d < instances.size(); ++d) {
      instances[d].setId(text("d" + std::to_string(i) + std::to_string(d)));
      instances[d].setHealthy(!random.chance(0.2));
    }
  }
}

void fill_parts(schema::Node::Builder node,
                Random& random,
                std::size_t number_of_node,
                const Features& features) {
  auto resources = node.initNodeResources();
  auto cpu = resources.initCpu();
  cpu.setCpuShares(1000 + 500 * static_cast<std::int64_t>(random.below(7)));
  if (features.has(Feature::cores) && random.chance(0.6)) {
    const auto cores = 2 + static_cast<unsigned>(random.below(4));
    cpu.setTotalCpuCores(static_cast<std::uint16_t>(cores));
    const auto first = static_cast<unsigned>(random.below(2));
    auto reservable = cpu.initReservableCpuCores(cores - first);
    for (unsigned i = 0; i < reservable.size(); ++i)
      reservable.set(i, static_cast<std::uint16_t>(first + i));
  }
  resources.initMemory().setMemoryMb(1000 + 500 * static_cast<std::int64_t>(random.below(7)));
  resources.initDisk().setDiskMb(random.chance(0.3) ? 700 : 10'000);
  fill_networks(resources, random, number_of_node);
  if (features.has(Feature::devices)) fill_devices(resources, random);
  if (random.chance(0.3)) {
    auto reserved = node.initReservedResources();
    reserved.initCpu().setCpuShares(200);
    reserved.initMemory().setMemoryMb(100);
    reserved.initDisk().setDiskMb(50);
    if (random.chance(0.5)) reserved.initNetworks().setReservedHostPorts("22,8001-8002");
  }
  if (!features.has(Feature::volumes)) return;
  auto volumes = node.initHostVolumes(random.chance(0.6) ? 1 : 0);
  if (volumes.size() == 0) return;
  volumes[0].setKey("data");
  volumes[0].initValue().setName("data");
  volumes[0].getValue().setPath("/data");
  volumes[0].getValue().setReadOnly(random.chance(0.3));
}

void fill_facts(schema::Node::Builder node, Random& random, std::size_t number) {
  std::vector<Entry> attributes{{"driver.mock_driver", "1"},
                                {"unique.hostname", "host-" + std::to_string(number)}};
  attributes.push_back({"cpu.arch", random.chance(0.7) ? "amd64" : "arm64"});
  if (random.chance(0.8))
    attributes.push_back({"kernel.version", one_of(random, std::array<const char*, 3>{
                                                               "5.4.0", "5.10.3", "6.1.0-rc1"})});
  if (random.chance(0.9))
    attributes.push_back({"rank", one_of(random, std::array<const char*, 3>{"3", "10", "12"})});
  if (random.chance(0.9))
    attributes.push_back({"tags", one_of(random, std::array<const char*, 3>{"a,b", "b,c", "a"})});
  if (random.chance(0.2)) attributes.push_back({"flag", "on"});
  fill(node.initAttributes(static_cast<unsigned>(attributes.size())), attributes);
}

/// What stays when a node's facts change: properties that allocations are counted by.
void fill_meta(schema::Node::Builder node, Random& random) {
  std::vector<Entry> meta{{"rack", "r" + std::to_string(1 + random.below(3))}};
  if (random.chance(0.8)) meta.push_back({"zone", "z" + std::to_string(1 + random.below(2))});
  meta.push_back({"arch", random.chance(0.5) ? "amd64" : "arm64"});
  fill(node.initMeta(static_cast<unsigned>(meta.size())), meta);
}

}  // namespace

void fill_node(schema::Node::Builder node,
               const std::string& id,
               std::size_t number,
               Random parts,
               Random facts,
               const Features& features) {
  node.setId(text(id));
  node.setName(text("host-" + std::to_string(number)));
  const bool places = features.has(Feature::places);
  node.setDatacenter(places && parts.chance(0.2) ? "dc2" : "dc1");
  node.setNodePool(places && parts.chance(0.1) ? "other" : "default");
  node.setNodeClass(parts.chance(0.5) ? "big" : "small");
  node.setStatus(schema::NodeStatus::READY);
  fill_meta(node, parts);
  fill_parts(node, parts, number, features);
  fill_facts(node, facts, number);
  node.setComputedClass(text(scheduler::computed_class(node.asReader())));
}

std::string job_id(std::size_t number) {
  return "job-" + std::to_string(number);
}

namespace {

void add_constraints(capnp::List<schema::Constraint>::Builder list, Random& random) {
  for (auto constraint : list) {
    const auto& rule = rules()[random.below(rules().size())];
    constraint.setLTarget(rule.left);
    constraint.setOperand(rule.operand);
    constraint.setRTarget(rule.right);
  }
}

/// Few jobs have any, or hardly anything would be placed.
unsigned few(Random& random) {
  return random.chance(0.15) ? 1 + static_cast<unsigned>(random.below(2)) : 0;
}

template <class Owner>
void add_distinct(Owner owner, Random& random) {
  const auto old = owner.getConstraints();
  std::vector<std::array<std::string, 3>> kept;
  for (const auto constraint : old.asReader())
    kept.push_back({copy(constraint.getLTarget()), copy(constraint.getOperand()),
                    copy(constraint.getRTarget())});
  if (random.chance(0.5))
    kept.push_back({"", "distinct_hosts", random.chance(0.1) ? "false" : ""});
  else
    kept.push_back({random.chance(0.5) ? "${meta.rack}" : "${meta.zone}", "distinct_property",
                    random.chance(0.5) ? "" : std::to_string(1 + random.below(3))});
  auto list = owner.initConstraints(static_cast<unsigned>(kept.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setLTarget(text(kept[i][0]));
    list[i].setOperand(text(kept[i][1]));
    list[i].setRTarget(text(kept[i][2]));
  }
}

void add_spread(schema::TaskGroup::Builder group, Random& random) {
  auto spread = group.initSpreads(1)[0];
  spread.setAttribute(random.chance(0.5) ? "${meta.rack}" : "${node.datacenter}");
  spread.setWeight(static_cast<std::int8_t>(number(random, 1, 100)));
  if (!random.chance(0.5)) return;
  auto targets = spread.initSpreadTarget(2);
  targets[0].setValue(view(spread.getAttribute().asReader()) == "${meta.rack}" ? "r1" : "dc1");
  targets[0].setPercent(static_cast<std::uint8_t>(number(random, 0, 70)));
  targets[1].setValue("r2");
  targets[1].setPercent(30);
}

void add_affinity(schema::TaskGroup::Builder group, Random& random) {
  auto affinity = group.initAffinities(1)[0];
  const auto& rule = rules()[random.below(rules().size())];
  affinity.setLTarget(rule.left);
  affinity.setOperand(rule.operand);
  affinity.setRTarget(rule.right);
  affinity.setWeight(static_cast<std::int8_t>(random.chance(0.7) ? number(random, 1, 100)
                                                                 : number(random, -100, -1)));
}

void add_ports(schema::TaskGroup::Builder group, Random& random, const Features& features) {
  const bool is_static = features.has(Feature::static_ports) && random.chance(0.3);
  const bool is_dynamic = features.has(Feature::dynamic_ports) && random.chance(0.4);
  if (!is_static && !is_dynamic) return;
  auto network = group.initNetworks(1)[0];
  const bool is_public = random.chance(0.2);
  if (is_static) {
    auto port = network.initReservedPorts(1)[0];
    port.setLabel("fixed");
    // Some within the range that dynamic ones come from.
    port.setValue(random.chance(0.2) ? 20'001 : 8000 + static_cast<std::int32_t>(random.below(4)));
    if (is_public) port.setHostNetwork("public");
  }
  if (!is_dynamic) return;
  auto ports = network.initDynamicPorts(1 + static_cast<unsigned>(random.below(2)));
  for (unsigned i = 0; i < ports.size(); ++i) {
    ports[i].setLabel(text("p" + std::to_string(i)));
    if (random.chance(0.3)) ports[i].setTo(-1);
    if (is_public) ports[i].setHostNetwork("public");
  }
}

void add_device(schema::Task::Builder task, Random& random) {
  auto device = task.getResources().initDevices(1)[0];
  device.setName(
      one_of(random, std::array<const char*, 4>{"gpu", "nvidia/gpu", "nvidia/gpu/t4", "tpu"}));
  device.setCount(1 + random.below(2));
  if (!random.chance(0.3)) return;
  auto constraint = device.initConstraints(1)[0];
  constraint.setLTarget("${device.model}");
  constraint.setOperand("=");
  constraint.setRTarget("v100");
}

void add_lifecycle(schema::Task::Builder task, Random& random) {
  auto lifecycle = task.initLifecycle();
  lifecycle.setHook(
      one_of(random, std::array<const char*, 3>{"prestart", "poststart", "poststop"}));
  lifecycle.setSidecar(view(lifecycle.getHook().asReader()) != "poststop" && random.chance(0.5));
}

void fill_task(schema::Task::Builder task,
               unsigned at,
               Random& random,
               Random& version,
               const Features& features) {
  task.setName(text("t" + std::to_string(at)));
  task.setDriver(random.chance(0.03) ? "nobody_has_it" : "mock_driver");
  task.setConfig(text("{\"v\":" + std::to_string(version.below(3)) + "}"));
  task.setKillTimeout(5 * second);
  if (at > 0 && features.has(Feature::lifecycles) && random.chance(0.5))
    add_lifecycle(task, random);
  auto resources = task.initResources();
  resources.setCpu(100 * number(random, 1, 6));
  resources.setMemoryMb(64 * number(random, 1, 8));
  if (random.chance(0.2)) resources.setMemoryMaxMb(1024);
  if (features.has(Feature::cores) && random.chance(0.15)) {
    resources.setCores(number(random, 1, 2));
    resources.setCpu(0);
  }
  if (at == 0 && features.has(Feature::devices) && random.chance(0.2)) add_device(task, random);
  if (features.has(Feature::constraints) && random.chance(0.1))
    add_constraints(task.initConstraints(1), random);
}

void fill_update(schema::UpdateStrategy::Builder update,
                 Random& random,
                 const JobTaste& taste,
                 const Features& features) {
  update.setMaxParallel(number(random, 0, 3));
  update.setStagger(30 * second);
  update.setHealthCheck("checks");
  update.setMinHealthyTime(10 * second);
  update.setHealthyDeadline(300 * second);
  update.setProgressDeadline(random.chance(0.2) ? 0 : 600 * second);
  update.setAutoRevert(random.chance(0.3));
  if (!features.has(Feature::canaries) || !random.chance(taste.canaries)) return;
  update.setCanary(number(random, 1, 3));
  update.setAutoPromote(random.chance(0.5));
}

/// A system job's: a deployment that changes two nodes at a time.
void deploy(schema::UpdateStrategy::Builder update) {
  update.setMaxParallel(2);
  update.setAutoRevert(true);
  update.setStagger(30 * second);
  update.setHealthCheck("checks");
  update.setMinHealthyTime(10 * second);
  update.setHealthyDeadline(300 * second);
  update.setProgressDeadline(600 * second);
}

void fill_reschedule(schema::ReschedulePolicy::Builder policy,
                     Random& random,
                     const Features& features) {
  policy.setDelay(number(random, 0, 30) * second);
  policy.setDelayFunction(
      one_of(random, std::array<const char*, 3>{"constant", "exponential", "fibonacci"}));
  policy.setMaxDelay(120 * second);
  const bool limited = features.has(Feature::limited_reschedules) && random.chance(0.4);
  policy.setUnlimited(!limited);
  if (!limited) return;
  policy.setAttempts(number(random, 0, 2));
  policy.setInterval(600 * second);
}

/// An absence of so many seconds, said in the one form or the other.
void tolerate(schema::TaskGroup::Builder group, std::int64_t seconds) {
  if (seconds % 2 == 0) return group.initMaxClientDisconnect().setValue(seconds * second);
  auto block = group.initDisconnect();
  block.initLostAfter().setValue(seconds * second);
  block.initReplace().setValue(seconds % 5 != 0);
  block.setReconcile(
      text(reconcile_words[static_cast<std::size_t>(seconds / 2) % reconcile_words.size()]));
}

/// How a group's allocations bear that their client is away.
void fill_absence(schema::TaskGroup::Builder group, Random& random) {
  if (random.chance(0.4))
    tolerate(group, number(random, 30, 300));
  else if (random.chance(0.2))
    group.initStopAfterClientDisconnect().setValue(60 * second);
}

void fill_group(schema::TaskGroup::Builder group,
                unsigned at,
                std::string_view type,
                Random& random,
                Random& version,
                const JobTaste& taste,
                const Features& features) {
  const bool once_per_node = type == "system" || type == "sysbatch";
  group.setName(text("g" + std::to_string(at)));
  group.setCount(once_per_node ? (version.chance(0.9) ? 1 : 0) : number(version, 0, 5));
  auto disk = group.initEphemeralDisk();
  disk.setSizeMb(random.chance(0.2) ? 300 : 50);
  disk.setSticky(random.chance(0.1));
  if (!once_per_node) fill_reschedule(group.initReschedulePolicy(), random, features);
  const auto count = 1 + static_cast<unsigned>(random.below(3));
  auto tasks = group.initTasks(count);
  for (unsigned i = 0; i < count; ++i)
    fill_task(tasks[i], i, random, version, features);
  if (features.has(Feature::constraints))
    add_constraints(group.initConstraints(few(random)), random);
  if (features.has(Feature::distinct) && random.chance(0.2) && !once_per_node)
    add_distinct(group, random);
  if (features.has(Feature::spread) && random.chance(0.2)) add_spread(group, random);
  if (features.has(Feature::affinity) && random.chance(0.2)) add_affinity(group, random);
  add_ports(group, random, features);
  if (features.has(Feature::disconnects)) fill_absence(group, random);
  if (features.has(Feature::volumes) && random.chance(0.15)) {
    auto entry = group.initVolumes(1)[0];
    entry.setKey("data");
    auto volume = entry.initValue();
    volume.setName("data");
    volume.setType("host");
    volume.setSource("data");
    volume.setReadOnly(random.chance(0.5));
  }
  // A strategy that comes or goes with a version would say nothing more.
  if (type == "service" && features.has(Feature::rolling_updates) && random.chance(taste.updates))
    fill_update(group.initUpdate(), version, taste, features);
  if (type == "service" && random.chance(0.7))
    group.initMigrate().setMaxParallel(number(random, 0, 3));
}

std::string_view type_of(std::size_t number, const Features& features) {
  if (number == 3 && features.has(Feature::batch)) return "batch";
  if (number == 4 && features.has(Feature::system)) return "system";
  if (number == 5 && features.has(Feature::sysbatch)) return "sysbatch";
  return "service";
}

}  // namespace

Object<schema::Job> make_job(std::size_t number,
                             Random structure,
                             Random version,
                             const JobTaste& taste,
                             const Features& features) {
  Draft<schema::Job> draft;
  auto& job = *draft;
  const auto type = type_of(number, features);
  job.setId(text(job_id(number)));
  job.setName(text(job_id(number)));
  job.setNamespace("default");
  job.setType(text(type));
  job.setPriority(number % 3 == 0 ? 30 : number % 3 == 1 ? 50 : 90);
  const bool places = features.has(Feature::places);
  job.setNodePool(places && structure.chance(0.1)
                      ? one_of(structure, std::array<const char*, 2>{"all", "other"})
                      : "default");
  job.initDatacenters(1).set(
      0, places ? one_of(structure, std::array<const char*, 6>{"*", "*", "*", "dc1", "dc1", "d*2"})
                : "*");
  job.setAllAtOnce(features.has(Feature::all_at_once) && structure.chance(0.1));
  if (features.has(Feature::constraints))
    add_constraints(job.initConstraints(few(structure)), structure);
  const bool once_per_node = type == "system" || type == "sysbatch";
  if (features.has(Feature::distinct) && structure.chance(0.1) && !once_per_node)
    add_distinct(job, structure);
  if (type == "system" && features.has(Feature::rolling_updates) && structure.chance(0.5)) {
    auto update = job.initUpdate();
    update.setMaxParallel(1 + static_cast<std::int64_t>(structure.below(2)));
    update.setStagger(30 * second);
  }
  const bool several = features.has(Feature::several_groups) && structure.chance(0.3);
  auto groups = job.initTaskGroups(several ? 2 : 1);
  for (unsigned i = 0; i < groups.size(); ++i) {
    fill_group(groups[i], i, type, structure, version, taste, features);
    if (type == "system" && job.getUpdate().getMaxParallel() == 2) deploy(groups[i].initUpdate());
  }
  return draft.freeze();
}

}  // namespace nomad::properties
