// Feasibility: whether a node may run a group at all, whatever is free on it.
//
// May depend on: runtime/state. What only depends on the node's computed class is checked once a
// class and remembered in the evaluation's Eligibility.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/scheduler/placement/csi_volumes.hpp"
#include "runtime/scheduler/placement/eligibility.hpp"
#include "runtime/scheduler/placement/job_spec.hpp"
#include "runtime/scheduler/placement/metrics.hpp"
#include "runtime/scheduler/placement/operand.hpp"
#include "runtime/scheduler/placement/property_counts.hpp"
#include "runtime/scheduler/placement/proposal.hpp"

namespace nomad::scheduler {

class Feasibility {
public:
  /// All arguments outlive this. Without `volumes` there are none of CSI.
  Feasibility(const JobSpec& job,
              OperandChecker& operands,
              Eligibility& eligibility,
              CsiVolumes* volumes = nullptr);

  /// Says whether the node may run one more allocation `alloc_name` of the group; if not, counts
  /// the reason in `metrics`. `distinct` has an element for each of the group's
  /// distinct_properties, `here` counts the job's allocations on the node.
  bool check(const GroupSpec& group,
             schema::Node::Reader node,
             std::string_view alloc_name,
             const std::vector<PropertyCounts>& distinct,
             const JobUsage& here,
             MetricBuilder& metrics);

  /// The share of the affinities' weights that the node matches, between -1 and 1.
  double affinity_score(const GroupSpec& group, schema::Node::Reader node);

private:
  bool check_job(schema::Node::Reader node, MetricBuilder& metrics);
  bool check_group(const GroupSpec& group, schema::Node::Reader node, MetricBuilder& metrics);
  bool check_parts(const GroupSpec& group, schema::Node::Reader node, MetricBuilder& metrics);
  bool meets(const std::vector<ConstraintSpec>& constraints,
             schema::Node::Reader node,
             MetricBuilder& metrics);

  const JobSpec& job_;
  OperandChecker& operands_;
  Eligibility& eligibility_;
  CsiVolumes* volumes_;
};

}  // namespace nomad::scheduler
