#include "runtime/scheduler/placement/devices.hpp"

#include <doctest/doctest.h>

#include "runtime/object/alloc_view.hpp"
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
  OperandChecker operands;
  return has_devices(*node_with_devices(), job.groups().front(), operands);
}

std::vector<std::string_view> assigned(const char* name,
                                       unsigned count,
                                       const state::NodeUsage& usage = {},
                                       const std::vector<std::string>& offered = {}) {
  static const auto node = node_with_devices();
  const auto job = job_asking({{name, count}});
  OperandChecker operands;
  const auto device = assign_device(*node, request_of(job), usage, offered, operands);
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
  usage.add({}, alloc.freeze()->resources());
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
    OperandChecker operands;
    return has_devices(*node_with_devices(), spec.groups().front(), operands);
  };
  CHECK(asks("${device.vendor}", "nvidia"));
  CHECK_FALSE(asks("${device.vendor}", "amd"));
  CHECK(asks("${device.type}", "gpu"));
  CHECK_FALSE(asks("${device.type}", "fpga"));
  CHECK(asks("${device.model}", "1080ti"));
  CHECK_FALSE(asks("${device.model}", "2080ti"));
  CHECK_FALSE(asks("${device.attr.memory}", "1"));
}

namespace {

struct Preference {
  const char* target;
  const char* operand;
  const char* value;
  std::int8_t weight;
};

/// Two models of GPUs: "old" with the instances a and b and 8 GiB, "new" with c and 24 GiB.
struct TwoModels {
  Draft<schema::Node> node;
  Draft<schema::Job> job{job_asking({{"gpu", 1}})};
  OperandChecker operands;

  TwoModels() {
    auto groups = node->initNodeResources().initDevices(2);
    fill(groups[0], "old", {"a", "b"}, R"({"memory":{"Int":8,"Unit":"GiB"},"ecc":{"Bool":false}})");
    fill(groups[1], "new", {"c"},
         R"({"memory":{"Int":24,"Unit":"GiB"},"ecc":{"Bool":true},"driver":{"String":"535.1"}})");
  }

  static void fill(schema::NodeDeviceGroup::Builder group,
                   const char* name,
                   const std::vector<const char*>& ids,
                   const char* attributes) {
    group.setVendor("nvidia");
    group.setType("gpu");
    group.setName(name);
    group.setAttributes(attributes);
    auto instances = group.initInstances(static_cast<unsigned>(ids.size()));
    for (unsigned i = 0; i < instances.size(); ++i) {
      instances[i].setId(ids[i]);
      instances[i].setHealthy(true);
    }
  }

  schema::RequestedDevice::Builder request() {
    return job->getTaskGroups()[0].getTasks()[0].getResources().getDevices()[0];
  }

  std::optional<AssignedDevice> assign() {
    return assign_device(node.reader(), request().asReader(), {}, {}, operands);
  }

  /// The instance that one request with this constraint gets; empty if none.
  std::string with_constraint(const char* target, const char* operand, const char* value) {
    auto constraint = request().initConstraints(1)[0];
    constraint.setLTarget(target);
    constraint.setOperand(operand);
    constraint.setRTarget(value);
    const auto device = assign();
    return device ? std::string{device->ids.at(0)} : "";
  }

  void prefer(const std::vector<Preference>& wanted) {
    auto affinities = request().initAffinities(static_cast<unsigned>(wanted.size()));
    for (unsigned i = 0; i < affinities.size(); ++i) {
      affinities[i].setLTarget(wanted[i].target);
      affinities[i].setOperand(wanted[i].operand);
      affinities[i].setRTarget(wanted[i].value);
      affinities[i].setWeight(wanted[i].weight);
    }
  }
};

}  // namespace

TEST_CASE_FIXTURE(TwoModels, "devices: constraints compare attributes with their units") {
  CHECK(with_constraint("${device.attr.memory}", ">", "10 GiB") == "c");
  CHECK(with_constraint("${device.attr.memory}", "<=", "8192 MiB") == "a");
  CHECK(with_constraint("${device.attr.memory}", "=", "24GiB") == "c");
  CHECK(with_constraint("${device.attr.memory}", ">", "10 GHz").empty());
  CHECK(with_constraint("${device.attr.memory}", ">", "10").empty());
  CHECK(with_constraint("${device.attr.ecc}", "=", "true") == "c");
  CHECK(with_constraint("${device.attr.ecc}", "!=", "true") == "a");
  CHECK(with_constraint("${device.attr.driver}", "is_set", "") == "c");
  CHECK(with_constraint("${device.attr.driver}", "is_not_set", "") == "a");
  CHECK(with_constraint("${device.attr.driver}", "regexp", "^535") == "c");
  CHECK(with_constraint("${device.attr.none}", "=", "1").empty());
  CHECK(with_constraint("${device.what}", "=", "1").empty());
}

TEST_CASE_FIXTURE(TwoModels, "devices: single instances may be asked for") {
  CHECK(with_constraint("${device.ids}", "set_contains", "b") == "b");
  CHECK(with_constraint("${device.ids}", "set_contains_any", "b,x") == "b");
  CHECK(with_constraint("${device.ids}", "set_contains", "x").empty());
  request().setCount(2);
  CHECK(with_constraint("${device.ids}", "set_contains", "b").empty());
}

TEST_CASE_FIXTURE(TwoModels, "devices: the model that meets the affinities best is given") {
  CHECK(assign()->ids.at(0) == "a");
  prefer({{"${device.attr.memory}", ">=", "20 GiB", 50}, {"${device.model}", "=", "old", 20}});
  REQUIRE(assign());
  CHECK(assign()->ids.at(0) == "c");
  CHECK(assign()->affinity == 50);
  prefer({{"${device.model}", "=", "old", -20}});
  CHECK(assign()->ids.at(0) == "c");
  CHECK(assign()->affinity == 0);
}
