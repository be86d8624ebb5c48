// Selector: finds the node for one allocation: walks over nodes, drops those that may not or cannot
// run it, scores a few of the rest and takes the best.
//
// May depend on: runtime/state. Deterministic given the random generator, the nodes and the state.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/scheduler/placement/devices.hpp"
#include "runtime/scheduler/placement/feasibility.hpp"
#include "runtime/scheduler/placement/job_spec.hpp"
#include "runtime/scheduler/placement/metrics.hpp"
#include "runtime/scheduler/placement/proposal.hpp"
#include "runtime/scheduler/placement/spread.hpp"

namespace nomad::scheduler {

/// What one task gets on the chosen node.
struct TaskAssignment {
  const TaskSpec* task = nullptr;
  std::int64_t cpu_mhz = 0;
  std::vector<std::uint16_t> cores;
  std::optional<AssignedNetwork> network;
  std::vector<AssignedDevice> devices;
};

/// A node on which the allocation fits, and what it gets there.
struct Selection {
  ProposedNode* node = nullptr;
  Score score;
  double normalized = 0;
  state::Demand demand;
  std::optional<AssignedNetwork> network;
  std::vector<TaskAssignment> tasks;
  Preempted preempted;  ///< Who has to end first.
};

struct SelectorOptions {
  bool spread_fit = false;  ///< The "spread" algorithm instead of "binpack".
  bool memory_oversubscription = false;
  bool preemption = false;  ///< Less important jobs may be preempted where nothing is free.
  bool is_batch = false;
  bool is_system = false;  ///< One node at a time, no comparison.
};

struct SelectRequest {
  std::string_view alloc_name;
  std::set<std::string, std::less<>> penalty_nodes;  ///< Where a previous allocation failed.
  Object<schema::Node> preferred;                    ///< Tried first, if not empty.
  bool may_preempt = false;
};

class Selector {
public:
  /// All references outlive this.
  Selector(const JobSpec& job,
           const state::Snapshot& state,
           const std::vector<state::AllocRef>& job_allocs,
           Proposal& proposal,
           Eligibility& eligibility,
           Random& random,
           SelectorOptions options);

  /// The nodes to choose from, in random order unless for a system job. They outlive this.
  void set_nodes(std::vector<const Object<schema::Node>*> nodes);

  /// The best node for one more allocation of `group`; nothing if there is none, and `metrics`
  /// says why. With `options.preemption`, nodes where somebody has to end are looked at once no
  /// other is found.
  std::optional<Selection> select(const GroupSpec& group,
                                  const SelectRequest& request,
                                  MetricBuilder& metrics);

  /// What the allocation would get on one node, if it may and can run there.
  std::optional<Selection> select_on(const Object<schema::Node>& node,
                                     const GroupSpec& group,
                                     const SelectRequest& request,
                                     MetricBuilder& metrics);

  /// The same of a node that is known to be feasible: only its room is judged.
  std::optional<Selection> fit_on(const Object<schema::Node>& node,
                                  const GroupSpec& group,
                                  const SelectRequest& request,
                                  MetricBuilder& metrics);

  /// Whether the quota has no room for what the group takes on any node.
  bool is_over_quota(const GroupSpec& group, MetricBuilder& metrics);

  /// Why the node can't give the allocation its CSI volumes; empty if it can.
  std::string missing_volumes(const GroupSpec& group,
                              schema::Node::Reader node,
                              std::string_view alloc_name) {
    return volumes_.missing(group, node, alloc_name);
  }

  /// What the group takes of a node of that capacity, in which it gets the cores that it asks for.
  state::Demand demand_on(const GroupSpec& group, const Capacity& capacity);

  /// How many there are by the group's `distinct_properties`, in their order.
  const std::vector<PropertyCounts>& distinct_counts(const GroupSpec& group) {
    return state_of(group).distinct;
  }

  /// A staged change of an allocation of the job, for what counts over several nodes.
  void count_change(schema::Node::Reader node, std::string_view group, int by);

private:
  /// What is computed once for a group.
  struct GroupState {
    std::vector<PropertyCounts> distinct;
    std::vector<PropertyCounts> spread_counts;
    std::unique_ptr<SpreadScorer> spread;
    std::optional<state::Demand> demand;  ///< Unless it depends on the node.
  };

  GroupState& state_of(const GroupSpec& group);
  class Room;

  std::optional<Selection> select_once(const GroupSpec& group,
                                       const SelectRequest& request,
                                       MetricBuilder& metrics);
  std::optional<Selection> fit(const GroupSpec& group,
                               GroupState& known,
                               Room& room,
                               MetricBuilder& metrics);
  bool assign_group_network(const GroupSpec& group,
                            Room& room,
                            Selection& selection,
                            std::string& reason);
  bool assign_tasks(const GroupSpec& group, Room& room, Selection& selection, std::string& reason);
  bool assign_task_network(TaskAssignment& task,
                           Room& room,
                           const Selection& selection,
                           std::string& reason);
  bool assign_devices(TaskAssignment& task,
                      Room& room,
                      std::vector<std::string>& taken,
                      std::string& reason);
  bool assign_cores(TaskAssignment& task,
                    const Room& room,
                    std::vector<std::uint16_t>& taken) const;
  void score(const GroupSpec& group,
             GroupState& known,
             const SelectRequest& request,
             const JobUsage& here,
             Selection& selection);
  std::optional<Selection> best_of_ring(const GroupSpec& group,
                                        const SelectRequest& request,
                                        MetricBuilder& metrics);

  const JobSpec& job_;
  const state::Snapshot& state_;
  const std::vector<state::AllocRef>& job_allocs_;
  Proposal& proposal_;
  Random& random_;
  SelectorOptions options_;
  OperandChecker operands_;
  CsiVolumes volumes_;
  Feasibility feasibility_;
  const Object<schema::Node>& take_node();

  std::vector<const Object<schema::Node>*> nodes_;
  std::size_t shuffled_ = 0;   ///< Nodes before this have their place; few are ever looked at.
  std::size_t next_node_ = 0;  ///< Goes round, so that placements take turns.
  std::map<std::string_view, GroupState> groups_;
};

/// The resources that an allocation row records for a selection.
void fill_resources(schema::AllocatedResources::Builder resources,
                    const GroupSpec& group,
                    const Selection& selection,
                    bool memory_oversubscription);

}  // namespace nomad::scheduler
