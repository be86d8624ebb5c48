#include "runtime/scheduler/placement/devices.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::scheduler;

namespace {

/// A node with the GPUs a, b and (broken) c of one model, and a device of another vendor.
Object<schema::Node> node_with_devices() {
  Draft<schema::Node> node;
  auto groups = node->initNodeResources().initDevices(2);
  const auto fill = [&](unsigned place, const char* vendor, const char* type, const char* name,
                        const std::vector<std::pair<const char*, bool>>& instances) {
    auto group = groups[place];
    group.setVendor(vendor);
    group.setType(type);
    group.setName(name);
    auto list = group.initInstances(static_cast<unsigned>(instances.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setId(instances[i].first);
      list[i].setHealthy(instances[i].second);
    }
  };
  fill(0, "nvidia", "gpu", "1080ti", {{"a", true}, {"b", true}, {"c", false}});
  fill(1, "xilinx", "fpga", "u50", {{"f", true}});
  return node.freeze();
}

/// A job of one group, whose only task asks for these: name and count.
Object<schema::Job> job_asking(const std::vector<std::pair<const char*, unsigned>>& wanted) {
  Draft<schema::Job> job;
  job->setType("service");
  auto group = job->initTaskGroups(1)[0];
  group.setName("group");
  auto devices
      = group.initTasks(1)[0].initResources().initDevices(static_cast<unsigned>(wanted.size()));
  for (unsigned i = 0; i < devices.size(); ++i) {
    devices[i].setName(wanted[i].first);
    devices[i].setCount(wanted[i].second);
  }
  return job.freeze();
}

schema::RequestedDevice::Reader request_of(const Object<schema::Job>& job) {
  return job->getTaskGroups()[0].getTasks()[0].getResources().getDevices()[0];
}

bool fits(const std::vector<std::pair<const char*, unsigned>>& wanted) {
  const JobSpec job{job_asking(wanted)};
  return has_devices(*node_with_devices(), job.groups().front());
}

std::vector<std::string_view> assigned(const char* name,
                                       unsigned count,
                                       const state::NodeUsage& usage = {},
                                       const std::vector<std::string>& offered = {}) {
  static const auto node = node_with_devices();
  const auto job = job_asking({{name, count}});
  const auto device = assign_device(*node, request_of(job), usage, offered);
  return device ? device->ids : std::vector<std::string_view>{};
}

}  // namespace

TEST_CASE("devices: a request names a type, its vendor, and its model") {
  for (const auto* name : {"gpu", "nvidia/gpu", "nvidia/gpu/1080ti"})
    CHECK(fits({{name, 1}}));
  for (const auto* name : {"nvidia", "amd/gpu", "nvidia/gpu/2080", "nvidia/fpga", "xilinx/gpu"})
    CHECK_FALSE(fits({{name, 1}}));
}

TEST_CASE("devices: all requests of a group share the healthy ones") {
  CHECK(fits({{"gpu", 2}, {"fpga", 1}}));
  CHECK_FALSE(fits({{"gpu", 3}}));
  CHECK_FALSE(fits({{"gpu", 1}, {"nvidia/gpu", 2}}));
  CHECK(fits({{"gpu", 0}, {"gpu", 0}}));  // no number means one
  CHECK_FALSE(fits({{"gpu", 0}, {"gpu", 0}, {"gpu", 0}}));
}

TEST_CASE("devices: what is broken, in use or offered already is not assigned") {
  using Ids = std::vector<std::string_view>;
  CHECK(assigned("gpu", 1) == Ids{"a"});
  CHECK(assigned("gpu", 2) == Ids{"a", "b"});
  CHECK(assigned("gpu", 3).empty());
  CHECK(assigned("gpu", 1, {}, {"nvidia/gpu/1080ti/a"}) == Ids{"b"});

  Draft<schema::Allocation> alloc;
  auto device = alloc->initAllocatedResources().initTasks(1)[0].initValue().initDevices(1)[0];
  device.setVendor("nvidia");
  device.setType("gpu");
  device.setName("1080ti");
  device.initDeviceIds(1).set(0, "b");
  state::NodeUsage usage;
  usage.add({}, alloc.freeze()->getAllocatedResources());
  CHECK(assigned("gpu", 1, usage) == Ids{"a"});
  CHECK(assigned("gpu", 2, usage).empty());
}

TEST_CASE("devices: a request may ask for a vendor, a type or a model") {
  const auto asks = [](const char* target, const char* wanted) {
    Draft<schema::Job> job{job_asking({{"gpu", 1}})};
    auto device = job->getTaskGroups()[0].getTasks()[0].getResources().getDevices()[0];
    auto constraint = device.initConstraints(1)[0];
    constraint.setLTarget(target);
    constraint.setOperand("=");
    constraint.setRTarget(wanted);
    const JobSpec spec{job.freeze()};
    return has_devices(*node_with_devices(), spec.groups().front());
  };
  CHECK(asks("${device.vendor}", "nvidia"));
  CHECK_FALSE(asks("${device.vendor}", "amd"));
  CHECK(asks("${device.type}", "gpu"));
  CHECK_FALSE(asks("${device.type}", "fpga"));
  CHECK(asks("${device.model}", "1080ti"));
  CHECK_FALSE(asks("${device.model}", "2080ti"));
  CHECK_FALSE(asks("${device.attr.memory}", "1"));
}
