#include "runtime/scheduler/placement/devices.hpp"

#include <algorithm>

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/placement/operand.hpp"

namespace nomad::scheduler {
namespace {

/// "gpu", "nvidia/gpu" and "nvidia/gpu/1080ti" match the group nvidia, gpu, 1080ti.
bool matches_name(std::string_view wanted, schema::NodeDeviceGroup::Reader group) {
  const auto vendor = view(group.getVendor());
  const auto type = view(group.getType());
  const auto first = wanted.find('/');
  if (first == std::string_view::npos) return wanted == type;
  if (wanted.substr(0, first) != vendor) return false;
  const auto rest = wanted.substr(first + 1);
  const auto second = rest.find('/');
  if (second == std::string_view::npos) return rest == type;
  return rest.substr(0, second) == type && rest.substr(second + 1) == view(group.getName());
}

std::optional<std::string_view> device_fact(std::string_view target,
                                            schema::NodeDeviceGroup::Reader group) {
  if (!target.starts_with("${")) return target;
  if (target == "${device.vendor}") return view(group.getVendor());
  if (target == "${device.type}") return view(group.getType());
  if (target == "${device.model}") return view(group.getName());
  return std::nullopt;
}

bool matches(schema::RequestedDevice::Reader request, schema::NodeDeviceGroup::Reader group) {
  if (!matches_name(view(request.getName()), group)) return false;
  OperandChecker operands;
  for (const auto constraint : request.getConstraints()) {
    if (!operands.holds(view(constraint.getOperand()),
                        device_fact(view(constraint.getLTarget()), group),
                        device_fact(view(constraint.getRTarget()), group)))
      return false;
  }
  return true;
}

std::size_t wanted_count(schema::RequestedDevice::Reader request) {
  return std::max<std::size_t>(request.getCount(), 1);
}

}  // namespace

std::string AssignedDevice::usage_key(std::string_view id) const {
  return copy(group.getVendor()) + '/' + copy(group.getType()) + '/' + copy(group.getName()) + '/'
         + std::string{id};
}

bool has_devices(schema::Node::Reader node, const GroupSpec& group) {
  const auto groups = node.getNodeResources().getDevices();
  std::vector<std::size_t> healthy;
  for (const auto offered : groups) {
    std::size_t count = 0;
    for (const auto device : offered.getInstances())
      count += device.getHealthy() ? 1 : 0;
    healthy.push_back(count);
  }
  for (const auto& task : group.tasks) {
    for (const auto request : task.task.getResources().getDevices()) {
      bool found = false;
      for (unsigned i = 0; i < groups.size() && !found; ++i) {
        found = healthy[i] >= wanted_count(request) && matches(request, groups[i]);
        if (found) healthy[i] -= wanted_count(request);
      }
      if (!found) return false;
    }
  }
  return true;
}

std::optional<AssignedDevice> assign_device(schema::Node::Reader node,
                                            schema::RequestedDevice::Reader request,
                                            const state::NodeUsage& usage,
                                            const std::vector<std::string>& offered) {
  for (const auto group : node.getNodeResources().getDevices()) {
    if (!matches(request, group)) continue;
    AssignedDevice assigned{group, {}};
    for (const auto device : group.getInstances()) {
      if (assigned.ids.size() == wanted_count(request)) break;
      const auto key = assigned.usage_key(view(device.getId()));
      const bool taken = std::ranges::binary_search(usage.devices(), key)
                         || std::ranges::find(offered, key) != offered.end();
      if (device.getHealthy() && !taken) assigned.ids.push_back(view(device.getId()));
    }
    if (assigned.ids.size() == wanted_count(request)) return assigned;
  }
  return std::nullopt;
}

}  // namespace nomad::scheduler
