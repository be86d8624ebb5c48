#include "runtime/scheduler/explain/node_judge.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/saturated.hpp"
#include "runtime/scheduler/placement/devices.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"

namespace nomad::scheduler::explain {
namespace {

/// What looking at one node costs beside its constraints.
constexpr std::uint64_t work_of_node = 8;

/// Different texts about networks that are kept.
constexpr std::size_t most_network_texts = 256;

std::int64_t cores_asked(const GroupSpec& group) {
  std::int64_t cores = 0;
  for (const auto& task : group.tasks)
    cores = saturated_sum(cores, task.cores);
  return cores;
}

std::int64_t free_cores(const ProposedNode& node) {
  return std::ranges::count_if(node.capacity().cores, [&node](std::uint16_t core) {
    return !std::ranges::binary_search(node.usage().cores(), core);
  });
}

}  // namespace

const Amount& Amounts::of(Obstacle what) const {
  if (what == Obstacle::cores) return cores;
  if (what == Obstacle::cpu) return cpu;
  return what == Obstacle::memory ? memory : disk;
}

std::vector<schema::RequestedDevice::Reader> device_requests(const GroupSpec& group) {
  std::vector<schema::RequestedDevice::Reader> requests;
  for (const auto& task : group.tasks)
    for (const auto request : task.task.getResources().getDevices())
      requests.push_back(request);
  return requests;
}

std::size_t healthy_instances(schema::Node::Reader node,
                              schema::RequestedDevice::Reader request,
                              OperandChecker& operands) {
  std::size_t most = 0;  // a request is met by one group of devices
  for (const auto offered : node.getNodeResources().getDevices())
    if (matches_device(request, offered, operands))
      most = std::max(most, usable_instances(request, offered, operands).size());
  return most;
}

NodeJudge::NodeJudge(Ground& ground, const GroupSpec& group, std::string alloc_name)
    : ground_{ground},
      group_{group},
      alloc_name_{std::move(alloc_name)},
      constraints_{ground.job(), group} {}

Verdict NodeJudge::judge(const Object<schema::Node>& node, bool whole, std::uint64_t& work) {
  const auto reader = *node;
  work += work_of_node;
  Verdict verdict;
  judge_scope(reader, verdict.against);
  if (view(reader.getComputedClass()).empty()) {
    const auto alone = judge_class(reader, work);
    verdict.against.insert(verdict.against.end(), alone.begin(), alone.end());
  } else {
    const auto& shared = of_class(reader, work);
    verdict.against.insert(verdict.against.end(), shared.begin(), shared.end());
  }
  judge_own(reader, verdict.against, work);
  const bool is_feasible = verdict.against.empty();
  if (is_feasible && place(node, verdict)) {
    verdict.amounts = amounts_on(*verdict.selection->node);
    return verdict;
  }
  if (!is_feasible && !whole) {
    std::ranges::sort(verdict.against);
    return verdict;
  }
  judge_room(ground_.proposal().node(node), verdict);
  // What is exhausted is not always an amount or a port: then it has the scheduler's word.
  if (verdict.against.empty())
    verdict.against.push_back(
        network_reason(Obstacle::room, std::string{metrics_.exhausted_dimension()}));
  std::ranges::sort(verdict.against);
  return verdict;
}

void NodeJudge::judge_scope(schema::Node::Reader node, Reasons& out) {
  if (!is_ready(node)) {
    if (node.getStatus() != schema::NodeStatus::READY) out.push_back(reason_id(Obstacle::status));
    if (node.hasDrainStrategy())
      out.push_back(reason_id(Obstacle::drain));
    else if (node.getSchedulingEligibility() != schema::SchedulingEligibility::ELIGIBLE)
      out.push_back(reason_id(Obstacle::eligibility));
  }
  const auto job = ground_.job().reader();
  if (!is_in_pool(node, job)) out.push_back(reason_id(Obstacle::node_pool));
  const auto name = view(node.getDatacenter());
  const auto [known, is_new] = datacenters_.try_emplace(name);
  if (is_new) known->second = is_in_datacenter(name, job);
  if (!known->second) out.push_back(reason_id(Obstacle::datacenter));
}

const NodeJudge::Reasons& NodeJudge::of_class(schema::Node::Reader node, std::uint64_t& work) {
  const auto name = view(node.getComputedClass());
  const auto known = classes_.find(name);
  if (known != classes_.end()) return known->second;
  return classes_.emplace(name, judge_class(node, work)).first->second;
}

NodeJudge::Reasons NodeJudge::judge_class(schema::Node::Reader node, std::uint64_t& work) {
  Reasons out;
  numbers_.clear();
  constraints_.add_failing_of_class(node, numbers_, work);
  for (const auto number : numbers_)
    out.push_back(reason_id(Obstacle::constraint, number));
  for (std::size_t i = 0; i < group_.drivers.size(); ++i)
    if (!has_driver(node, group_.drivers[i])) out.push_back(reason_id(Obstacle::driver, i));
  return out;
}

/// What nodes of one class need not have in common.
void NodeJudge::judge_own(schema::Node::Reader node, Reasons& out, std::uint64_t& work) {
  numbers_.clear();
  constraints_.add_failing_of_node(node, numbers_, work);
  for (const auto number : numbers_)
    out.push_back(reason_id(Obstacle::constraint, number));
  if (group_.has_devices && !has_devices(node, group_, operands_)) {
    const auto requests = device_requests(group_);
    const auto first = std::ranges::find_if(requests, [&](const auto& request) {
      return healthy_instances(node, request, operands_) < device_count(request);
    });
    const auto index = first == requests.end() ? 0 : first - requests.begin();
    out.push_back(reason_id(Obstacle::device, static_cast<std::size_t>(index)));
  }
  judge_networks_and_volumes(node, out);
  const auto& here = ground_.proposal().job_usage(view(node.getId()));
  if (breaks_distinct_hosts(group_, here)) out.push_back(reason_id(Obstacle::distinct_hosts));
  const auto own = here.by_group.find(group_.name);
  if (ground_.options().is_system && own != here.by_group.end() && own->second > 0)
    out.push_back(reason_id(Obstacle::present));
  const auto& counts = ground_.selector().distinct_counts(group_);
  for (std::size_t i = 0; i < group_.distinct_properties.size(); ++i)
    if (!breaks_distinct_property(node, group_.distinct_properties[i], counts[i]).empty())
      out.push_back(reason_id(Obstacle::distinct_property, i));
}

void NodeJudge::judge_networks_and_volumes(schema::Node::Reader node, Reasons& out) {
  if (auto text = missing_network(node, group_); !text.empty())
    out.push_back(network_reason(Obstacle::network, std::move(text)));
  for (std::size_t i = 0; i < group_.host_volumes.size(); ++i)
    if (!has_host_volume(node, group_.host_volumes[i], alloc_name_))
      out.push_back(reason_id(Obstacle::host_volume, i));
  if (group_.csi_volumes.empty()) return;
  if (auto text = ground_.selector().missing_volumes(group_, node, alloc_name_); !text.empty()) {
    // Nodes of one answer are one class, and not everybody may read what nodes are called.
    const auto named = fmt::format("client {}", view(node.getId()));
    if (text.ends_with(named)) text.replace(text.size() - named.size(), named.size(), "the client");
    out.push_back(network_reason(Obstacle::csi_volume, std::move(text)));
  }
}

bool NodeJudge::place(const Object<schema::Node>& node, Verdict& out) {
  SelectRequest request;
  request.alloc_name = alloc_name_;
  if (!metrics_.exhausted_dimension().empty()) metrics_ = {};
  out.selection = ground_.selector().fit_on(node, group_, request, metrics_);
  if (out.selection || !ground_.options().preemption) return out.fits();
  request.may_preempt = true;
  out.selection = ground_.selector().fit_on(node, group_, request, metrics_);
  return out.fits();
}

Amounts NodeJudge::amounts_on(const ProposedNode& node) {
  const auto asked = ground_.selector().demand_on(group_, node.capacity());
  const auto free = node.capacity().left(node.usage().total());
  Amounts amounts{.cores = {cores_asked(group_), 0},
                  .cpu = {asked.cpu_mhz, free.cpu_mhz},
                  .memory = {asked.memory_mb, free.memory_mb},
                  .disk = {asked.disk_mb, free.disk_mb}};
  if (amounts.cores.asked > 0) amounts.cores.free = free_cores(node);
  return amounts;
}

void NodeJudge::judge_room(ProposedNode& node, Verdict& out) {
  if (group_.has_network()) judge_ports(node, out.against);
  if (group_.has_devices) judge_devices_in_use(node, out.against);
  out.amounts = amounts_on(node);
  for (const auto what : {Obstacle::cores, Obstacle::cpu, Obstacle::memory, Obstacle::disk}) {
    const auto& amount = out.amounts->of(what);
    if (amount.asked > amount.free) out.against.push_back(reason_id(what));
  }
}

void NodeJudge::judge_ports(ProposedNode& node, Reasons& out) {
  const auto* network = node.network();
  if (network == nullptr)
    return out.push_back(network_reason(Obstacle::network_room, "network: invalid node"));
  const auto ask = group_.group.getNetworks()[0];
  const auto assigned = network->assign(ask, node.reader(), node.usage(), random_);
  if (assigned) return;
  const auto before = out.size();
  const auto ports = ask.getReservedPorts();
  for (const auto& wanted : network->static_ports(ask, node.reader())) {
    const auto port = static_cast<Port>(wanted.value);
    if (!network->is_reserved(wanted.ip, port) && !node.usage().port_taken(wanted.ip, port))
      continue;
    for (unsigned i = 0; i < ports.size(); ++i)
      if (view(ports[i].getLabel()) == wanted.label) out.push_back(reason_id(Obstacle::port, i));
  }
  if (out.size() == before)
    out.push_back(network_reason(Obstacle::network_room, "network: " + assigned.error().what));
}

void NodeJudge::judge_devices_in_use(const ProposedNode& node, Reasons& out) {
  std::vector<std::string> taken;
  const auto requests = device_requests(group_);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto given = assign_device(node.reader(), requests[i], node.usage(), taken, operands_);
    // What is not there at all is told as such.
    if (!given
        && healthy_instances(node.reader(), requests[i], operands_) >= device_count(requests[i]))
      out.push_back(reason_id(Obstacle::device_room, i));
    if (!given) continue;
    for (const auto id : given->ids)
      taken.push_back(given->usage_key(id));
  }
}

ReasonId NodeJudge::network_reason(Obstacle what, std::string text) {
  auto known = std::ranges::find(network_texts_, text);
  if (known == network_texts_.end() && network_texts_.size() >= most_network_texts) {
    text = "network";
    known = std::ranges::find(network_texts_, text);
  }
  const auto index = static_cast<std::size_t>(known - network_texts_.begin());
  if (known == network_texts_.end()) network_texts_.push_back(std::move(text));
  return reason_id(what, index);
}

}  // namespace nomad::scheduler::explain
