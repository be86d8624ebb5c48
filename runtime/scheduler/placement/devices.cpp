#include "runtime/scheduler/placement/devices.hpp"

#include <algorithm>

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/placement/device_attribute.hpp"

namespace nomad::scheduler {
namespace {

constexpr std::string_view ids_target = "${device.ids}";

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

/// What one device group says to constraints and affinities.
class DeviceFacts {
public:
  explicit DeviceFacts(schema::NodeDeviceGroup::Reader group) : group_{group} {}

  /// The value of one side of a constraint; nothing if the device has none of that name.
  std::optional<DeviceAttribute> resolve(std::string_view target) {
    constexpr std::string_view attribute = "${device.attr.";
    if (!target.starts_with("${")) return DeviceAttribute::parse(target);
    if (target == "${device.vendor}") return DeviceAttribute::of_text(view(group_.getVendor()));
    if (target == "${device.type}") return DeviceAttribute::of_text(view(group_.getType()));
    if (target == "${device.model}") return DeviceAttribute::of_text(view(group_.getName()));
    if (target == ids_target) return DeviceAttribute::of_text(ids());
    if (!target.starts_with(attribute)) return std::nullopt;
    auto name = target.substr(attribute.size());
    if (name.ends_with('}')) name.remove_suffix(1);
    if (!attributes_) attributes_ = device_attributes(group_);
    const auto known = attributes_->find(name);
    return known == attributes_->end() ? std::nullopt : std::optional{known->second};
  }

private:
  std::string ids() const {
    std::string joined;
    for (const auto instance : group_.getInstances())
      joined.append(joined.empty() ? "" : ",").append(view(instance.getId()));
    return joined;
  }

  schema::NodeDeviceGroup::Reader group_;
  std::optional<DeviceAttributes> attributes_;
};

using Side = std::optional<DeviceAttribute>;

bool in_order(std::string_view operand, int order) {
  if (operand == "<") return order < 0;
  if (operand == "<=") return order <= 0;
  if (operand == ">") return order > 0;
  if (operand == ">=") return order >= 0;
  return order == 0;
}

/// Whether "left operand right" holds between typed values. Unlike texts, values of different kinds
/// are neither equal nor unequal.
bool holds(std::string_view operand, const Side& left, const Side& right, OperandChecker& texts) {
  if (operand == "distinct_hosts" || operand == "distinct_property") return true;
  if (operand == "is_set") return left.has_value();
  if (operand == "is_not_set") return !left.has_value();
  if (operand == "!=" || operand == "not") {
    if (!left || !right) return left.has_value() != right.has_value();
    const auto order = DeviceAttribute::compare(*left, *right);
    return order && *order != 0;
  }
  if (!left || !right) return false;
  if (operand == "=" || operand == "==" || operand == "is" || operand == "<" || operand == "<="
      || operand == ">" || operand == ">=") {
    const auto order = DeviceAttribute::compare(*left, *right);
    return order && in_order(operand, *order);
  }
  if (right->text() == nullptr) return false;
  if (operand == "version" || operand == "semver") {
    const auto version = left->version();
    return version && texts.holds(operand, *version, *right->text());
  }
  return left->text() != nullptr && texts.holds(operand, *left->text(), *right->text());
}

/// Whether the constraints that are about single instances let this one be given.
bool allows_instance(schema::RequestedDevice::Reader request,
                     std::string_view id,
                     DeviceFacts& facts,
                     OperandChecker& operands) {
  for (const auto constraint : request.getConstraints()) {
    const auto left = view(constraint.getLTarget());
    const auto right = view(constraint.getRTarget());
    if (left != ids_target && right != ids_target) continue;
    const auto listed = facts.resolve(left == ids_target ? right : left);
    if (!holds(view(constraint.getOperand()), listed, DeviceAttribute::of_text(id), operands))
      return false;
  }
  return true;
}

double affinity_of(schema::RequestedDevice::Reader request,
                   schema::NodeDeviceGroup::Reader group,
                   OperandChecker& operands) {
  DeviceFacts facts{group};
  double sum = 0;
  for (const auto affinity : request.getAffinities()) {
    if (holds(view(affinity.getOperand()), facts.resolve(view(affinity.getLTarget())),
              facts.resolve(view(affinity.getRTarget())), operands))
      sum += affinity.getWeight();
  }
  return sum;
}

}  // namespace

std::string device_key(schema::NodeDeviceGroup::Reader group, std::string_view id) {
  return copy(group.getVendor()) + '/' + copy(group.getType()) + '/' + copy(group.getName()) + '/'
         + std::string{id};
}

std::string AssignedDevice::usage_key(std::string_view id) const {
  return device_key(group, id);
}

std::size_t device_count(schema::RequestedDevice::Reader request) {
  return std::max<std::size_t>(request.getCount(), 1);
}

bool matches_device(schema::RequestedDevice::Reader request,
                    schema::NodeDeviceGroup::Reader group,
                    OperandChecker& operands) {
  if (!matches_name(view(request.getName()), group)) return false;
  DeviceFacts facts{group};
  for (const auto constraint : request.getConstraints()) {
    if (!holds(view(constraint.getOperand()), facts.resolve(view(constraint.getLTarget())),
               facts.resolve(view(constraint.getRTarget())), operands))
      return false;
  }
  return true;
}

std::vector<std::string_view> usable_instances(schema::RequestedDevice::Reader request,
                                               schema::NodeDeviceGroup::Reader group,
                                               OperandChecker& operands) {
  DeviceFacts facts{group};
  std::vector<std::string_view> ids;
  for (const auto instance : group.getInstances()) {
    const auto id = view(instance.getId());
    if (instance.getHealthy() && allows_instance(request, id, facts, operands)) ids.push_back(id);
  }
  return ids;
}

bool has_devices(schema::Node::Reader node, const GroupSpec& group, OperandChecker& operands) {
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
        found = healthy[i] >= device_count(request) && matches_device(request, groups[i], operands);
        if (found) healthy[i] -= device_count(request);
      }
      if (!found) return false;
    }
  }
  return true;
}

std::optional<AssignedDevice> assign_device(schema::Node::Reader node,
                                            schema::RequestedDevice::Reader request,
                                            const state::NodeUsage& usage,
                                            const std::vector<std::string>& offered,
                                            OperandChecker& operands) {
  std::optional<AssignedDevice> best;
  for (const auto group : node.getNodeResources().getDevices()) {
    if (!matches_device(request, group, operands)) continue;
    AssignedDevice assigned{group, {}, 0};
    for (const auto id : usable_instances(request, group, operands)) {
      if (assigned.ids.size() == device_count(request)) break;
      const auto key = device_key(group, id);
      const bool taken = std::ranges::binary_search(usage.devices(), key)
                         || std::ranges::find(offered, key) != offered.end();
      if (!taken) assigned.ids.push_back(id);
    }
    if (assigned.ids.size() < device_count(request)) continue;
    assigned.affinity = affinity_of(request, group, operands);
    if (!best || assigned.affinity > best->affinity) best = std::move(assigned);
  }
  return best;
}

}  // namespace nomad::scheduler
