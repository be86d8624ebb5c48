#include "runtime/scheduler/plan/plan_check.hpp"

#include <algorithm>
#include <set>

#include "runtime/object/disconnect.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/capacity.hpp"
#include "runtime/scheduler/plan/network.hpp"
#include "runtime/scheduler/plan/quota_check.hpp"

namespace nomad::scheduler {
namespace {

/// Whether each row is of an allocation that is there already: nothing new is used.
bool only_updates(const NodeChanges& changes) {
  return std::ranges::none_of(changes.placements,
                              [](const PlannedAlloc& placed) { return placed.is_new; });
}

/// Why an updated row can't replace the stored one, which may have changed since the plan was
/// made: an operator's wish in it must not be overwritten. Empty if it can.
std::string outdated_row(std::string_view node_id,
                         const NodeChanges& changes,
                         std::uint64_t snapshot_index,
                         const state::Snapshot& state) {
  for (const auto& placed : changes.placements) {
    if (placed.is_new) continue;
    const auto stored = state.alloc(placed.row->id());
    if (!stored || stored->alloc->node_id() != node_id)
      return "alloc to update is not there any more";
    if (stored->alloc->alloc_modify_index() > snapshot_index)
      return "alloc to update was changed meanwhile";
  }
  return {};
}

/// Whether it is awaited on a node that is down, too.
bool is_awaited_for_ever(const state::AllocRow& row) {
  return row.job && !disconnect_rules(*row.job, row.alloc->task_group()).replaces;
}

/// Why allocations can't be taken for unknown: their client is back, or away for good. Empty if
/// they can.
std::string not_away(std::string_view node_id,
                     const NodeChanges& changes,
                     const state::Snapshot& state) {
  for (const auto& placed : changes.placements) {
    if (placed.is_new || placed.row->client_status() != schema::ClientStatus::UNKNOWN) continue;
    const auto stored = state.alloc(placed.row->id());
    if (stored && stored->alloc->client_status() == schema::ClientStatus::UNKNOWN) continue;
    const auto node = state.node(node_id);
    const bool may_be_down = stored && is_awaited_for_ever(*stored);
    const bool is_away = node
                         && (node->getStatus() == schema::NodeStatus::DISCONNECTED
                             || (may_be_down && node->getStatus() == schema::NodeStatus::DOWN));
    if (!is_away) return "node is not disconnected any more";
  }
  return {};
}

/// Whether the group's network says that others may have the port, too.
bool is_shared_port(schema::AllocatedSharedResources::Reader shared, std::string_view label) {
  for (const auto network : shared.getNetworks())
    for (const auto port : network.getReservedPorts())
      if (view(port.getLabel()) == label) return port.getIgnoreCollision();
  return false;
}

/// Calls with the address, the port, and whether it is shared with whoever has it.
template <class Function>
void for_each_port(schema::AllocatedResources::Reader resources, Function&& function) {
  const auto shared = resources.getShared();
  for (const auto port : shared.getPorts())
    function(view(port.getHostIp()), port.getValue(),
             is_shared_port(shared, view(port.getLabel())));
  for (const auto entry : resources.getTasks()) {
    for (const auto network : entry.getValue().getNetworks()) {
      for (const auto port : network.getReservedPorts())
        function(view(network.getIp()), port.getValue(), false);
      for (const auto port : network.getDynamicPorts())
        function(view(network.getIp()), port.getValue(), false);
    }
  }
}

/// What is written anew keeps its ports, although others may have come to share them.
bool has_port(const state::AllocRef& row, std::string_view ip, std::int32_t value) {
  bool found = false;
  if (row)
    for_each_port(row->alloc->resources(), [&](std::string_view its_ip, std::int32_t its, bool) {
      found = found || (its_ip == ip && its == value);
    });
  return found;
}

/// Why the row's ports can't be given out on top of `usage`; empty if they can. `before` is the
/// stored row, if there is one.
std::string port_collision(const state::NodeUsage& usage,
                           const NodeNetwork& network,
                           AllocView row,
                           const state::AllocRef& before) {
  std::string reason;
  std::set<std::pair<std::string_view, std::int32_t>> own;
  for_each_port(row.resources(), [&](std::string_view ip, std::int32_t value, bool is_shared) {
    const auto port = static_cast<Port>(value);
    const bool is_port = value >= 0 && value <= 65'535;
    const bool is_first = own.emplace(ip, value).second;
    const bool is_free = !usage.port_taken(ip, port) && !network.is_reserved(ip, port);
    const bool may_have = is_shared || (is_first && (is_free || has_port(before, ip, value)));
    if ((!is_port || !may_have) && reason.empty())
      reason = "reserved port collision: port " + std::to_string(value) + " already in use";
  });
  return reason;
}

bool needs_network(AllocView row) {
  bool found = false;
  for_each_port(row.resources(), [&](std::string_view, std::int32_t, bool) { found = true; });
  Bandwidth asked;
  add_bandwidth(row.resources(), asked);
  return found || !asked.empty();
}

/// How many of the sorted values are there already.
template <class Values>
std::size_t count_again(const Values& sorted) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i)
    count += sorted[i] == sorted[i - 1] ? 1 : 0;
  return count;
}

/// Whether the new rows ask for more of a network device's bandwidth than others leave of it: those
/// that are neither `freed` nor written anew.
bool exceeds_bandwidth(const NodeNetwork& network,
                       std::string_view node_id,
                       const NodeChanges& changes,
                       std::set<std::string_view> freed,
                       const state::Snapshot& state) {
  Bandwidth asked;
  Bandwidth used;
  for (const auto& placed : changes.placements) {
    if (placed.is_new) add_bandwidth(placed.row->resources(), asked);
    add_bandwidth(placed.row->resources(), used);
    freed.insert(placed.row->id());
  }
  if (asked.empty()) return false;
  for (const auto& entry : state.allocs_by_node(node_id)) {
    const auto& row = *entry.value();
    if (!row.client_terminal && !freed.contains(row.alloc->id()))
      add_bandwidth(row.alloc->resources(), used);
  }
  return std::ranges::any_of(network.task_networks(), [&](const TaskNetwork& device) {
    return asked.contains(device.device) && used.at(device.device) > device.mbits;
  });
}

/// Why the new rows don't fit on what the node has left; empty if they do.
std::string check_fit(schema::Node::Reader node,
                      const NodeChanges& changes,
                      const state::Snapshot& state) {
  const auto* base = state.usage(view(node.getId()));
  state::NodeUsage usage = base != nullptr ? *base : state::NodeUsage{};
  std::set<std::string_view> freed;
  const auto free = [&](const state::AllocRef& row) {
    const auto id = row->alloc->id();
    const auto stored = state.alloc(id);
    if (stored && !stored->client_terminal && freed.insert(id).second)
      usage.remove(stored->demand, stored->alloc->resources());
  };
  for (const auto& alloc : changes.ended_before)
    free(alloc);
  for (const auto& stop : changes.stops)
    free(stop.alloc);
  for (const auto& stop : changes.preemptions)
    free(stop.alloc);
  // What took over something from one that still runs has it twice until that ends; that is not
  // this plan's doing.
  const auto cores_again = count_again(usage.cores());
  const auto devices_again = count_again(usage.devices());
  std::optional<Result<NodeNetwork>> network;
  for (const auto& placed : changes.placements) {
    const auto row = *placed.row;
    state::AllocRef existing;
    if (!placed.is_new) {
      existing = state.alloc(row.id());
      if (!existing || existing->client_terminal) continue;  // it uses nothing any more
      usage.remove(existing->demand, existing->alloc->resources());
    }
    if (needs_network(row)) {
      if (!network) network.emplace(NodeNetwork::make(node));
      if (network->has_error()) return network->error().what;
      if (auto reason = port_collision(usage, **network, row, existing); !reason.empty())
        return reason;
    }
    usage.add(placed.demand, row.resources());
  }
  if (network && exceeds_bandwidth(**network, view(node.getId()), changes, freed, state))
    return "bandwidth exceeded";
  const auto capacity = Capacity::of(node);
  if (count_again(usage.cores()) > cores_again) return "cores";
  if (count_again(usage.devices()) > devices_again) return "device oversubscribed";
  return std::string{capacity.exhausted_by(usage.total())};
}

}  // namespace

std::string check_node(std::string_view node_id,
                       const NodeChanges& changes,
                       std::uint64_t snapshot_index,
                       const state::Snapshot& state) {
  if (changes.placements.empty()) return {};
  if (auto reason = outdated_row(node_id, changes, snapshot_index, state); !reason.empty())
    return reason;
  if (auto reason = not_away(node_id, changes, state); !reason.empty()) return reason;
  if (only_updates(changes)) return {};
  const auto node = state.node(node_id);
  if (!node) return "node does not exist";
  if (node->getStatus() != schema::NodeStatus::READY) return "node is not ready for placements";
  if (node->getSchedulingEligibility() != schema::SchedulingEligibility::ELIGIBLE)
    return "node is not eligible";
  return check_fit(*node, changes, state);
}

Result<> check_evaluation(const Plan& plan,
                          std::uint64_t known_index,
                          const state::Snapshot& state) {
  if (plan.eval_id.empty()) return {};
  const auto eval = state.eval(plan.eval_id);
  if (!eval) return Error{Errc::conflict, "the evaluation of the plan is not there any more"};
  if (state::is_terminal(eval->getStatus()))
    return Error{Errc::conflict, "the evaluation of the plan has ended"};
  if (eval->getModifyIndex() > known_index)
    return Error{Errc::conflict,
                 "another plan of the evaluation was written after this one's snapshot"};
  return {};
}

PlanVerdict check_plan(const Plan& plan, const state::Snapshot& state, std::string_view region) {
  PlanVerdict verdict;
  for (const auto& [node_id, changes] : plan.nodes) {
    auto reason = check_node(node_id, changes, plan.snapshot_index, state);
    if (!reason.empty()) verdict.rejected_nodes.emplace(node_id, std::move(reason));
  }
  for (auto& [node_id, reason] : check_quota(plan, verdict.rejected_nodes, state, region)) {
    verdict.over_quota.insert(node_id);
    verdict.rejected_nodes.emplace(node_id, std::move(reason));
  }
  if (plan.all_at_once && !verdict.rejected_nodes.empty()) {
    for (const auto& [node_id, changes] : plan.nodes)
      verdict.rejected_nodes.emplace(node_id, "all at once");
  }
  const bool rejects_all
      = !plan.nodes.empty() && verdict.rejected_nodes.size() == plan.nodes.size();
  const bool changes_deployment = plan.deployment || !plan.deployment_changes.empty();
  verdict.accepts_nothing = rejects_all && (plan.all_at_once || !changes_deployment);
  return verdict;
}

}  // namespace nomad::scheduler
