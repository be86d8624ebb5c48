// NodeJudge: what is against each node for one more allocation of a group. Unlike the schedulers it
// does not stop at the first reason, but it has no rule of its own: it asks rules.hpp,
// node_facts.hpp and devices.hpp about the node, and the selector about its room and score.
//
// (1) A node fits if nothing is against it; schedulers place there exactly then.
// (2) Room is judged where nothing else is against the node, as schedulers do it, or where `whole`
//     says so; of a node that fits it is always judged.
// (3) What nodes of one class have in common is judged once for the class.
//
// May depend on: runtime/state. One thread at a time; the ground and the nodes outlive it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/scheduler/explain/constraint_table.hpp"
#include "runtime/scheduler/explain/ground.hpp"
#include "runtime/scheduler/explain/obstacle.hpp"

namespace nomad::scheduler::explain {

/// MHz, MiB or cores.
struct Amount {
  std::int64_t asked = 0;
  std::int64_t free = 0;  ///< Below zero on a node that is overcommitted.
};

/// What is asked of a node's amounts, and what it has.
struct Amounts {
  Amount cores;
  Amount cpu;
  Amount memory;
  Amount disk;

  /// Of one that `is_amount`.
  const Amount& of(Obstacle what) const;
};

struct Verdict {
  std::vector<ReasonId> against;            ///< In the order of Obstacle; empty: it fits.
  std::optional<Selection> selection = {};  ///< What it would get, if it fits.
  std::optional<Amounts> amounts = {};      ///< Where its room was judged.

  bool fits() const { return selection.has_value(); }
};

class NodeJudge {
public:
  /// `group` is of the ground's job. `alloc_name` is what the allocation would be called.
  NodeJudge(Ground& ground, const GroupSpec& group, std::string alloc_name);

  /// Counts what it costs in `work`: one for each judgement of a constraint, some for the node.
  Verdict judge(const Object<schema::Node>& node, bool whole, std::uint64_t& work);

  Ground& ground() const { return ground_; }

  const GroupSpec& group() const { return group_; }

  const std::string& alloc_name() const { return alloc_name_; }

  const ConstraintTable& constraints() const { return constraints_; }

  /// What a reason of a network says, by its index.
  const std::string& network_text(std::size_t index) const { return network_texts_[index]; }

private:
  using Reasons = std::vector<ReasonId>;

  void judge_scope(schema::Node::Reader node, Reasons& out);
  const Reasons& of_class(schema::Node::Reader node, std::uint64_t& work);
  Reasons judge_class(schema::Node::Reader node, std::uint64_t& work);
  void judge_own(schema::Node::Reader node, Reasons& out, std::uint64_t& work);
  void judge_networks_and_volumes(schema::Node::Reader node, Reasons& out);
  bool place(const Object<schema::Node>& node, Verdict& out);
  Amounts amounts_on(const ProposedNode& node);
  void judge_room(ProposedNode& node, Verdict& out);
  void judge_ports(ProposedNode& node, Reasons& out);
  void judge_devices_in_use(const ProposedNode& node, Reasons& out);
  ReasonId network_reason(Obstacle what, std::string text);

  Ground& ground_;
  const GroupSpec& group_;
  std::string alloc_name_;
  ConstraintTable constraints_;
  OperandChecker operands_;
  Random random_{1};  ///< Ports of what is never placed.
  std::unordered_map<std::string_view, Reasons> classes_;
  std::unordered_map<std::string_view, bool> datacenters_;  ///< Whether the job names them.
  std::vector<std::string> network_texts_;
  std::vector<std::uint32_t> numbers_;  ///< Kept for its room.
  MetricBuilder metrics_;  ///< Its exhausted dimension is that of the last refused node.
};

/// The healthy instances on the node that suit the request.
std::size_t healthy_instances(schema::Node::Reader node,
                              schema::RequestedDevice::Reader request,
                              OperandChecker& operands);

/// The requests for devices of the group's tasks, in their order.
std::vector<schema::RequestedDevice::Reader> device_requests(const GroupSpec& group);

}  // namespace nomad::scheduler::explain
