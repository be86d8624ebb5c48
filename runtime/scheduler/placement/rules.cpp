#include "runtime/scheduler/placement/rules.hpp"

#include "runtime/object/entries.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"

namespace nomad::scheduler {
namespace {

bool offers_mode(schema::Node::Reader node, std::string_view mode) {
  const auto offers
      = [mode](std::string_view offered) { return (offered.empty() ? "host" : offered) == mode; };
  const auto resources = node.getNodeResources();
  for (const auto network : resources.getNetworks()) {
    if (offers(view(network.getMode()))) return true;
  }
  for (const auto network : resources.getNodeNetworks()) {
    if (offers(view(network.getMode()))) return true;
  }
  return false;
}

bool has_alias(schema::Node::Reader node, std::string_view alias) {
  for (const auto network : node.getNodeResources().getNodeNetworks()) {
    for (const auto address : network.getAddresses()) {
      if (view(address.getAlias()) == alias) return true;
    }
  }
  return false;
}

/// Why the node's networks do not suit the port; empty if they do.
std::string missing_host_network(schema::Node::Reader node, schema::Port::Reader port) {
  const auto wanted = view(port.getHostNetwork());
  if (wanted.empty()) return {};
  const auto in_quotes = [](std::string_view name) { return '"' + std::string{name} + '"'; };
  const auto label = in_quotes(view(port.getLabel()));
  const auto alias = resolve_target(wanted, node);
  if (!alias) return "invalid host network " + in_quotes(wanted) + " template for port " + label;
  if (has_alias(node, *alias)) return {};
  return "missing host network " + in_quotes(*alias) + " for port " + label;
}

/// "[3]" of "web.api[3]".
std::string_view index_suffix(std::string_view alloc_name) {
  const auto bracket = alloc_name.rfind('[');
  return bracket == std::string_view::npos ? std::string_view{} : alloc_name.substr(bracket);
}

}  // namespace

bool meets(const ConstraintSpec& constraint, schema::Node::Reader node, OperandChecker& operands) {
  return operands.holds(constraint.operand, resolve_target(constraint.left, node),
                        resolve_target(constraint.right, node));
}

std::string shown(const ConstraintSpec& constraint) {
  std::string text{constraint.left};
  text.append(" ").append(constraint.operand).append(" ").append(constraint.right);
  return text;
}

std::string missing_network(schema::Node::Reader node, const GroupSpec& group) {
  if (!group.has_network()) return {};
  const auto ask = group.group.getNetworks()[0];
  const auto mode = ask.getMode().size() == 0 ? "host" : view(ask.getMode());
  if (mode == "none") return {};
  if (!offers_mode(node, mode)) return "missing network";
  for (const auto port : ask.getDynamicPorts()) {
    if (auto reason = missing_host_network(node, port); !reason.empty()) return reason;
  }
  for (const auto port : ask.getReservedPorts()) {
    if (auto reason = missing_host_network(node, port); !reason.empty()) return reason;
  }
  return {};
}

std::string source_of(const VolumeSpec& wanted, std::string_view alloc_name) {
  std::string source{wanted.source};
  if (wanted.per_alloc) source += index_suffix(alloc_name);
  return source;
}

bool has_host_volume(schema::Node::Reader node,
                     const VolumeSpec& wanted,
                     std::string_view alloc_name) {
  const auto volumes = node.getHostVolumes();
  const auto position = find_entry(volumes, source_of(wanted, alloc_name));
  return position && (wanted.read_only || !volumes[*position].getValue().getReadOnly());
}

std::string missing_csi_volume(const VolumeSpec& wanted, std::string_view alloc_name) {
  return "missing CSI Volume " + source_of(wanted, alloc_name);
}

bool breaks_distinct_hosts(const GroupSpec& group, const JobUsage& here) {
  if (group.distinct_hosts_of_job && here.total > 0) return true;
  if (!group.distinct_hosts_of_group) return false;
  const auto own = here.by_group.find(group.name);
  return own != here.by_group.end() && own->second > 0;
}

std::string breaks_distinct_property(schema::Node::Reader node,
                                     const DistinctProperty& property,
                                     const PropertyCounts& counts) {
  const std::string attribute{property.attribute};
  const auto value = resolve_target(attribute, node);
  if (!value) return "missing property \"" + attribute + '"';
  const auto used = counts.count(*value);
  if (used < property.limit) return {};
  return "distinct_property: " + attribute + '=' + std::string{*value} + " used by "
         + std::to_string(used) + " allocs";
}

}  // namespace nomad::scheduler
