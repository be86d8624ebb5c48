#include "runtime/scheduler/placement/feasibility.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/object/entries.hpp"
#include "runtime/scheduler/placement/devices.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"

namespace nomad::scheduler {
namespace {

std::string_view class_of(schema::Node::Reader node) {
  return view(node.getNodeClass());
}

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

/// Why the node's networks do not suit the group; empty if they do.
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

/// "[3]" of "web.api[3]".
std::string_view index_suffix(std::string_view alloc_name) {
  const auto bracket = alloc_name.rfind('[');
  return bracket == std::string_view::npos ? std::string_view{} : alloc_name.substr(bracket);
}

bool has_host_volumes(schema::Node::Reader node,
                      const GroupSpec& group,
                      std::string_view alloc_name) {
  const auto volumes = node.getHostVolumes();
  return std::ranges::all_of(group.host_volumes, [&](const VolumeSpec& wanted) {
    std::string source{wanted.source};
    if (wanted.per_alloc) source += index_suffix(alloc_name);
    const auto position = find_entry(volumes, source);
    return position && (wanted.read_only || !volumes[*position].getValue().getReadOnly());
  });
}

/// There are no CSI volumes yet, so the first that a group asks for is missing.
std::string missing_csi_volume(const VolumeSpec& wanted, std::string_view alloc_name) {
  std::string reason = "missing CSI Volume ";
  reason.append(wanted.source);
  if (wanted.per_alloc) reason.append(index_suffix(alloc_name));
  return reason;
}

/// Why the node holds too many of the job already; empty if it does not.
std::string breaks_distinct_property(schema::Node::Reader node,
                                     const std::vector<DistinctProperty>& properties,
                                     const std::vector<PropertyCounts>& counts) {
  for (std::size_t i = 0; i < properties.size(); ++i) {
    const std::string attribute{properties[i].attribute};
    const auto value = resolve_target(attribute, node);
    if (!value) return "missing property \"" + attribute + '"';
    const auto used = counts[i].count(*value);
    if (used >= properties[i].limit)
      return "distinct_property: " + attribute + '=' + std::string{*value} + " used by "
             + std::to_string(used) + " allocs";
  }
  return {};
}

bool breaks_distinct_hosts(const GroupSpec& group, const JobUsage& here) {
  if (group.distinct_hosts_of_job && here.total > 0) return true;
  if (!group.distinct_hosts_of_group) return false;
  const auto own = here.by_group.find(group.name);
  return own != here.by_group.end() && own->second > 0;
}

}  // namespace

Feasibility::Feasibility(const JobSpec& job, OperandChecker& operands, Eligibility& eligibility)
    : job_{job}, operands_{operands}, eligibility_{eligibility} {
  eligibility_.set_job(job.escapes_class());
  for (const auto& group : job.groups())
    eligibility_.set_group(group.name, group.escapes_class);
}

bool Feasibility::meets(const std::vector<ConstraintSpec>& constraints,
                        schema::Node::Reader node,
                        MetricBuilder& metrics) {
  for (const auto& constraint : constraints) {
    const auto left = resolve_target(constraint.left, node);
    const auto right = resolve_target(constraint.right, node);
    if (operands_.holds(constraint.operand, left, right)) continue;
    std::string text{constraint.left};
    text.append(" ").append(constraint.operand).append(" ").append(constraint.right);
    metrics.filtered(class_of(node), text);
    return false;
  }
  return true;
}

bool Feasibility::check_job(schema::Node::Reader node, MetricBuilder& metrics) {
  const auto node_class = view(node.getComputedClass());
  switch (eligibility_.job_state(node_class)) {
    case ClassState::eligible:
      return true;
    case ClassState::ineligible:
      metrics.filtered(class_of(node), "computed class ineligible");
      return false;
    case ClassState::escaped:
      return meets(job_.constraints(), node, metrics);
    case ClassState::unknown:
      break;
  }
  const bool fits = meets(job_.constraints(), node, metrics);
  eligibility_.record_job(node_class, fits);
  return fits;
}

bool Feasibility::check_group(const GroupSpec& group,
                              schema::Node::Reader node,
                              MetricBuilder& metrics) {
  const auto node_class = view(node.getComputedClass());
  const auto known = eligibility_.group_state(group.name, node_class);
  if (known == ClassState::eligible) return check_parts(group, node, metrics);
  if (known == ClassState::ineligible) {
    metrics.filtered(class_of(node), "computed class ineligible");
    return false;
  }
  std::string reason;
  bool fits = std::ranges::all_of(
      group.drivers, [&node](std::string_view driver) { return has_driver(node, driver); });
  if (!fits) {
    reason = "missing drivers";
  } else if (!meets(group.constraints, node, metrics)) {
    fits = false;  // counted by `meets`
  }
  if (!reason.empty()) metrics.filtered(class_of(node), reason);
  eligibility_.record_group(group.name, node_class, fits);
  return fits && check_parts(group, node, metrics);
}

/// What nodes of one class need not have in common: how many devices work, and networks.
bool Feasibility::check_parts(const GroupSpec& group,
                              schema::Node::Reader node,
                              MetricBuilder& metrics) {
  std::string reason;
  if (group.has_devices && !has_devices(node, group, operands_))
    reason = "missing devices";
  else
    reason = missing_network(node, group);
  if (reason.empty()) return true;
  metrics.filtered(class_of(node), reason);
  return false;
}

bool Feasibility::check(const GroupSpec& group,
                        schema::Node::Reader node,
                        std::string_view alloc_name,
                        const std::vector<PropertyCounts>& distinct,
                        const JobUsage& here,
                        MetricBuilder& metrics) {
  metrics.evaluated();
  if (!check_job(node, metrics) || !check_group(group, node, metrics)) return false;
  std::string reason;
  if (!has_host_volumes(node, group, alloc_name))
    reason = "missing compatible host volumes";
  else if (!group.csi_volumes.empty())
    reason = missing_csi_volume(group.csi_volumes.front(), alloc_name);
  else if (breaks_distinct_hosts(group, here))
    reason = "distinct_hosts";
  else
    reason = breaks_distinct_property(node, group.distinct_properties, distinct);
  if (reason.empty()) return true;
  metrics.filtered(class_of(node), reason);
  return false;
}

double Feasibility::affinity_score(const GroupSpec& group, schema::Node::Reader node) {
  double matched = 0;
  double all = 0;
  for (const auto& affinity : group.affinities) {
    all += std::abs(affinity.weight);
    const auto left = resolve_target(affinity.left, node);
    const auto right = resolve_target(affinity.right, node);
    if (operands_.holds(affinity.operand, left, right)) matched += affinity.weight;
  }
  return all > 0 ? matched / all : 0;
}

}  // namespace nomad::scheduler
