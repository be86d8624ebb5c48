// Preemption: which allocations of less important jobs end so that a placement finds room on a
// node.
//
// Candidates are allocations of other jobs whose priority is lower by at least ten; not those that
// were told to end before. The least important go first, and of equally important ones those that
// are nearest to what is needed; a group that has lost as many as its `migrate` block allows at
// once is spared as long as it goes. What is chosen and turns out not to be needed is let off.
//
// May depend on: runtime/state. Deterministic: of equal candidates the youngest goes first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/scheduler/placement/operand.hpp"
#include "runtime/scheduler/plan/network.hpp"
#include "runtime/state/rows.hpp"

namespace nomad::scheduler {

/// How many allocations of each namespace, job and group a plan preempts already.
using PreemptionCounts = std::map<std::tuple<std::string, std::string, std::string>, std::size_t>;

using Preempted = std::vector<state::AllocRef>;

/// Whether the allocation was given the port.
bool holds_port(AllocView alloc, const HostPort& wanted);

class Preemptor {
public:
  /// `on_node` are the allocations that hold resources of the node in the plan in progress. Keeps
  /// none of its arguments.
  Preemptor(schema::Job::Reader job,
            const std::vector<state::AllocRef>& on_node,
            const PreemptionCounts& counts);

  // Each of these returns whom to preempt; empty if that does not help.

  /// For the cpu, memory and disk of a placement. `free` is what the node has left.
  Preempted for_resources(const state::Demand& ask, const state::Demand& free) const;

  /// Who holds one of the ports.
  Preempted for_ports(const std::vector<HostPort>& needed) const;

  /// For a task's own network block on the device `network`, of whose bandwidth `used` is taken.
  Preempted for_task_network(schema::NetworkResource::Reader ask,
                             const TaskNetwork& network,
                             std::int64_t used) const;

  /// For a device request of which too few instances are neither in use nor `offered` (usage
  /// keys) to the same placement.
  Preempted for_device(schema::RequestedDevice::Reader request,
                       schema::Node::Reader node,
                       const state::NodeUsage& usage,
                       const std::vector<std::string>& offered,
                       OperandChecker& operands) const;

  /// They are preempted, and no candidates any more.
  void remove(const Preempted& gone);

private:
  struct Candidate {
    state::AllocRef row;
    std::int64_t priority = 0;
    double penalty = 0;  ///< For a group that has lost too many already.
  };

  std::vector<Candidate> candidates_;  ///< By ascending priority.
};

/// What the preempted are worth: the highest of their priorities, and more the more they are.
double net_priority(const Preempted& preempted);

/// Near 1 for a low net priority, falling to 0; 0.5 at 2048.
double preemption_score(double net_priority);

}  // namespace nomad::scheduler
