#include "runtime/scheduler/placement/feasibility.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/scheduler/placement/devices.hpp"
#include "runtime/scheduler/placement/rules.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"

namespace nomad::scheduler {
namespace {

std::string_view class_of(schema::Node::Reader node) {
  return view(node.getNodeClass());
}

}  // namespace

Feasibility::Feasibility(const JobSpec& job,
                         OperandChecker& operands,
                         Eligibility& eligibility,
                         CsiVolumes* volumes)
    : job_{job}, operands_{operands}, eligibility_{eligibility}, volumes_{volumes} {
  eligibility_.set_job(job.escapes_class());
  for (const auto& group : job.groups()) {
    eligibility_.set_group(group.name, group.escapes_class);
    if (!group.csi_volumes.empty()) eligibility_.set_wants_volumes();
  }
}

bool Feasibility::meets(const std::vector<ConstraintSpec>& constraints,
                        schema::Node::Reader node,
                        MetricBuilder& metrics) {
  for (const auto& constraint : constraints) {
    if (scheduler::meets(constraint, node, operands_)) continue;
    metrics.filtered(class_of(node), shown(constraint));
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
  const bool has_volumes = std::ranges::all_of(group.host_volumes, [&](const VolumeSpec& wanted) {
    return has_host_volume(node, wanted, alloc_name);
  });
  if (!has_volumes)
    reason = "missing compatible host volumes";
  else if (!group.csi_volumes.empty())
    reason = volumes_ != nullptr ? volumes_->missing(group, node, alloc_name)
                                 : missing_csi_volume(group.csi_volumes.front(), alloc_name);
  if (reason.empty() && breaks_distinct_hosts(group, here)) reason = "distinct_hosts";
  for (std::size_t i = 0; reason.empty() && i < group.distinct_properties.size(); ++i)
    reason = breaks_distinct_property(node, group.distinct_properties[i], distinct[i]);
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
