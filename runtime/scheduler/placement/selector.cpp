#include "runtime/scheduler/placement/selector.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/saturated.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::scheduler {
namespace {

/// Options with no better score than this are set aside at first, but not many.
constexpr double score_threshold = 0;
constexpr std::size_t most_skipped = 3;

bool needs_cores(const GroupSpec& group) {
  return std::ranges::any_of(group.tasks, [](const TaskSpec& task) { return task.cores > 0; });
}

/// What the group's reserved cores come to.
std::int64_t cores_of(const GroupSpec& group) {
  std::int64_t cores = 0;
  for (const auto& task : group.tasks)
    cores = saturated_sum(cores, task.cores);
  return cores;
}

/// What the allocation takes of a quota.
state::QuotaUse quota_use_of(const GroupSpec& group,
                             const Selection& selection,
                             bool oversubscribes) {
  Draft<schema::AllocatedResources> draft;
  fill_resources(*draft, group, selection, oversubscribes);
  return state::quota_use_of(state::demand_of(draft.reader()), draft.reader());
}

state::Demand demand_of(const GroupSpec& group, const Selection& selection) {
  Draft<schema::AllocatedResources> draft;
  fill_resources(*draft, group, selection, true);
  return state::demand_of(draft.reader());
}

/// What is taken of the devices' bandwidth by the tasks that have got theirs already.
void add_bandwidth_of(const Selection& selection, Bandwidth& used) {
  for (const auto& task : selection.tasks) {
    if (!task.network) continue;
    const auto ask = task.task->task.getResources().getNetworks()[0];
    used[task.network->device] += ask.getMBits();
  }
}

/// Nothing when no device is preferred to others.
std::optional<double> device_score(const Selection& selection) {
  double all = 0;
  double met = 0;
  for (const auto& task : selection.tasks) {
    for (const auto request : task.task->task.getResources().getDevices())
      for (const auto affinity : request.getAffinities())
        all += std::abs(static_cast<double>(affinity.getWeight()));
    for (const auto& device : task.devices)
      met += device.affinity;
  }
  return all > 0 ? std::optional{met / all} : std::nullopt;
}

std::vector<Port> ports_of(const Selection& selection) {
  std::vector<Port> ports;
  const auto add = [&ports](const AssignedNetwork& network) {
    for (const auto& port : network.static_ports)
      ports.push_back(static_cast<Port>(port.value));
    for (const auto& port : network.dynamic_ports)
      ports.push_back(static_cast<Port>(port.value));
  };
  if (selection.network) add(*selection.network);
  for (const auto& task : selection.tasks) {
    if (task.network) add(*task.network);
  }
  return ports;
}

}  // namespace

/// One node for one placement: what is in use there once all who are to be preempted have ended.
class Selector::Room {
public:
  Room(ProposedNode& node, const Proposal& proposal) : node_{node}, proposal_{proposal} {}

  ProposedNode& node() const { return node_; }

  schema::Node::Reader reader() const { return node_.reader(); }

  const state::NodeUsage& usage() const { return without_ ? *without_ : node_.usage(); }

  /// Lets others be preempted for a placement of the job.
  void allow_preemption(schema::Job::Reader job) { job_ = job; }

  /// Null if nobody may be. Made when it is first asked for: mostly there is room.
  const Preemptor* preemptor() {
    if (!job_) return nullptr;
    if (!preemptor_) {
      const auto id = view(reader().getId());
      preemptor_.emplace(*job_, proposal_.allocs_on(id), proposal_.preemptions());
    }
    return &*preemptor_;
  }

  /// False when nobody is preempted.
  bool preempt(const Preempted& more) {
    if (more.empty()) return false;
    if (!without_) without_ = node_.usage();
    for (const auto& row : more)
      without_->remove(row->demand, row->alloc->resources());
    preempted_.insert(preempted_.end(), more.begin(), more.end());
    preemptor_->remove(more);
    return true;
  }

  const Preempted& preempted() const { return preempted_; }

  Bandwidth bandwidth() const {
    auto used = proposal_.bandwidth(view(reader().getId()));
    for (const auto& row : preempted_) {
      Bandwidth freed;
      add_bandwidth(row->alloc->resources(), freed);
      for (const auto& [device, mbits] : freed)
        used[device] -= mbits;
    }
    return used;
  }

private:
  ProposedNode& node_;
  const Proposal& proposal_;
  std::optional<state::NodeUsage> without_;  ///< Without the preempted; empty as long as none is.
  std::optional<schema::Job::Reader> job_;   ///< For which others may be preempted.
  std::optional<Preemptor> preemptor_;
  Preempted preempted_;
};

Selector::Selector(const JobSpec& job,
                   const state::Snapshot& state,
                   const std::vector<state::AllocRef>& job_allocs,
                   Proposal& proposal,
                   Eligibility& eligibility,
                   Random& random,
                   SelectorOptions options)
    : job_{job},
      state_{state},
      job_allocs_{job_allocs},
      proposal_{proposal},
      random_{random},
      options_{options},
      volumes_{job, state, job_allocs, proposal},
      feasibility_{job, operands_, eligibility, &volumes_} {
  if (eligibility.wants_volumes()) proposal.keep_placed();
  for (const auto& group : job.groups())
    state_of(group);
}

Selector::GroupState& Selector::state_of(const GroupSpec& group) {
  if (const auto known = groups_.find(group.name); known != groups_.end()) return known->second;
  auto& state = groups_[group.name];
  for (const auto& property : group.distinct_properties) {
    const auto scope = property.whole_job ? std::string_view{} : group.name;
    state.distinct.emplace_back(property.attribute, scope, state_, job_allocs_);
  }
  for (const auto& spread : group.spreads)
    state.spread_counts.emplace_back(spread.attribute, group.name, state_, job_allocs_);
  if (!group.spreads.empty())
    state.spread = std::make_unique<SpreadScorer>(group, state.spread_counts);
  if (!needs_cores(group)) {
    Selection plain;
    for (const auto& task : group.tasks)
      plain.tasks.push_back({&task, task.cpu, {}, {}, {}});
    state.demand = demand_of(group, plain);
  }
  return state;
}

state::Demand Selector::demand_on(const GroupSpec& group, const Capacity& capacity) {
  if (const auto& known = state_of(group).demand) return *known;
  Selection given;
  for (const auto& task : group.tasks) {
    const auto cpu = task.cores > 0 ? capacity.shares_of_cores(task.cores) : task.cpu;
    given.tasks.push_back({&task, cpu, {}, {}, {}});
  }
  return demand_of(group, given);
}

void Selector::set_nodes(std::vector<const Object<schema::Node>*> nodes) {
  nodes_ = std::move(nodes);
  next_node_ = 0;
  shuffled_ = options_.is_system ? nodes_.size() : 0;
}

/// The next node of the ring. Its place is drawn when it is first reached.
const Object<schema::Node>& Selector::take_node() {
  if (next_node_ == shuffled_ && shuffled_ < nodes_.size()) {
    std::swap(nodes_[shuffled_], nodes_[shuffled_ + random_.below(nodes_.size() - shuffled_)]);
    ++shuffled_;
  }
  const auto& node = *nodes_[next_node_];
  next_node_ = (next_node_ + 1) % nodes_.size();
  return node;
}

void Selector::count_change(schema::Node::Reader node, std::string_view group, int by) {
  for (auto& [name, state] : groups_) {
    for (auto& counts : state.distinct)
      counts.change(node, group, by);
    for (auto& counts : state.spread_counts)
      counts.change(node, group, by);
  }
}

std::optional<Selection> Selector::select(const GroupSpec& group,
                                          const SelectRequest& request,
                                          MetricBuilder& metrics) {
  if (is_over_quota(group, metrics)) return std::nullopt;
  auto selection = select_once(group, request, metrics);
  if (selection || !options_.preemption) return selection;
  auto forceful = request;
  forceful.may_preempt = true;
  metrics.restart();
  return select_once(group, forceful, metrics);
}

/// Spares the look at each node. What depends on the node is judged there.
bool Selector::is_over_quota(const GroupSpec& group, MetricBuilder& metrics) {
  const auto* quota = proposal_.quota();
  if (quota == nullptr) return false;
  state::QuotaUse least{.demand = {}, .cores = cores_of(group), .allocations = 1, .devices = {}};
  if (const auto& known = state_of(group).demand) {
    least.demand = *known;
    if (!options_.memory_oversubscription) least.demand.memory_max_mb = known->memory_mb;
  }
  auto exceeded = quota->exceeded_with(least);
  if (exceeded.empty()) return false;
  if (!nodes_.empty()) metrics.evaluated();  // the first one: the others are no different
  metrics.quota_exhausted(std::move(exceeded));
  return true;
}

std::optional<Selection> Selector::select_once(const GroupSpec& group,
                                               const SelectRequest& request,
                                               MetricBuilder& metrics) {
  if (request.preferred) {
    if (auto selection = select_on(request.preferred, group, request, metrics)) return selection;
    metrics.restart();
  }
  return best_of_ring(group, request, metrics);
}

std::optional<Selection> Selector::best_of_ring(const GroupSpec& group,
                                                const SelectRequest& request,
                                                MetricBuilder& metrics) {
  const auto limit
      = node_limit(options_.is_batch, nodes_.size(), group.has_preferences(), group.count);
  std::optional<Selection> best;
  std::vector<Selection> skipped;
  std::size_t compared = 0;
  const auto consider = [&best](Selection selection) {
    if (!best || selection.normalized > best->normalized) best = std::move(selection);
  };
  for (std::size_t seen = 0; seen < nodes_.size() && compared < limit; ++seen) {
    auto selection = select_on(take_node(), group, request, metrics);
    if (!selection) continue;
    if (selection->normalized <= score_threshold && skipped.size() < most_skipped) {
      skipped.push_back(std::move(*selection));
      continue;
    }
    ++compared;
    consider(std::move(*selection));
  }
  for (auto& selection : skipped) {
    if (compared++ >= limit) break;
    consider(std::move(selection));
  }
  return best;
}

std::optional<Selection> Selector::select_on(const Object<schema::Node>& node,
                                             const GroupSpec& group,
                                             const SelectRequest& request,
                                             MetricBuilder& metrics) {
  const auto reader = *node;
  const auto& here = proposal_.job_usage(view(reader.getId()));
  if (!feasibility_.check(group, reader, request.alloc_name, distinct_counts(group), here, metrics))
    return std::nullopt;
  return fit_on(node, group, request, metrics);
}

std::optional<Selection> Selector::fit_on(const Object<schema::Node>& node,
                                          const GroupSpec& group,
                                          const SelectRequest& request,
                                          MetricBuilder& metrics) {
  auto& known = state_of(group);
  const auto reader = *node;
  const auto& here = proposal_.job_usage(view(reader.getId()));
  Room room{proposal_.node(node), proposal_};
  if (request.may_preempt) room.allow_preemption(job_.reader());
  auto selection = fit(group, known, room, metrics);
  if (!selection) return std::nullopt;
  score(group, known, request, here, *selection);
  metrics.scored(view(reader.getId()), selection->score);
  return selection;
}

/// Gives out ports, devices and cores, and checks that the rest is enough.
std::optional<Selection> Selector::fit(const GroupSpec& group,
                                       GroupState& known,
                                       Room& room,
                                       MetricBuilder& metrics) {
  auto& node = room.node();
  const auto exhausted = [&](std::string_view dimension) {
    metrics.exhausted(view(node.reader().getNodeClass()), dimension);
    return std::nullopt;
  };
  Selection selection;
  selection.node = &node;
  std::string reason;
  if (!assign_group_network(group, room, selection, reason)) return exhausted(reason);
  if (!assign_tasks(group, room, selection, reason)) return exhausted(reason);
  selection.demand = known.demand ? *known.demand : demand_of(group, selection);
  if (const auto* quota = proposal_.quota()) {
    auto exceeded
        = quota->exceeded_with(quota_use_of(group, selection, options_.memory_oversubscription));
    if (!exceeded.empty()) {
      metrics.quota_exhausted(std::move(exceeded));
      // Another node may make less of it.
      return !known.demand || group.has_devices ? exhausted("quota") : std::nullopt;
    }
  }
  auto used = room.usage().total();
  used += selection.demand;
  if (const auto dimension = node.capacity().exhausted_by(used); !dimension.empty()) {
    const auto* preemptor = room.preemptor();
    const auto left = node.capacity().left(room.usage().total());
    if (preemptor == nullptr || !room.preempt(preemptor->for_resources(selection.demand, left)))
      return exhausted(dimension);
  }
  // A node that is full of others scores as full, whoever of them goes.
  const auto free = node.capacity().free_share(used);
  selection.score.set(ScoreName::binpack,
                      options_.spread_fit ? spread_fit_score(free) : binpack_score(free));
  if (const auto devices = device_score(selection))
    selection.score.set(ScoreName::devices, *devices);
  selection.preempted = room.preempted();
  return selection;
}

bool Selector::assign_group_network(const GroupSpec& group,
                                    Room& room,
                                    Selection& selection,
                                    std::string& reason) {
  if (!group.has_network()) return true;
  const auto ask = group.group.getNetworks()[0];
  const auto* network = room.node().network();
  if (network == nullptr) return reason = "network: invalid node", false;
  const auto assign = [&] { return network->assign(ask, room.reader(), room.usage(), random_); };
  auto assigned = assign();
  if (!assigned && room.preemptor() != nullptr) {
    const auto ports = network->static_ports(ask, room.reader());
    if (room.preempt(room.preemptor()->for_ports(ports))) assigned = assign();
  }
  if (!assigned) return reason = "network: " + assigned.error().what, false;
  selection.network = std::move(*assigned);
  return true;
}

bool Selector::assign_tasks(const GroupSpec& group,
                            Room& room,
                            Selection& selection,
                            std::string& reason) {
  std::vector<std::uint16_t> cores;
  std::vector<std::string> devices;
  selection.tasks.reserve(group.tasks.size());
  for (const auto& spec : group.tasks) {
    TaskAssignment task{&spec, spec.cpu, {}, {}, {}};
    if (!assign_task_network(task, room, selection, reason)) return false;
    if (!assign_devices(task, room, devices, reason)) return false;
    if (spec.cores > 0 && !assign_cores(task, room, cores)) return reason = "cores", false;
    selection.tasks.push_back(std::move(task));
  }
  return true;
}

bool Selector::assign_task_network(TaskAssignment& task,
                                   Room& room,
                                   const Selection& selection,
                                   std::string& reason) {
  const auto networks = task.task->task.getResources().getNetworks();
  if (networks.size() == 0) return true;
  const auto ask = networks[0];
  const auto* network = room.node().network();
  if (network == nullptr) return reason = "network: invalid node", false;
  const auto used = [&] {
    Bandwidth bandwidth;
    if (ask.getMBits() == 0) return bandwidth;  // then nobody counts
    bandwidth = room.bandwidth();
    add_bandwidth_of(selection, bandwidth);
    return bandwidth;
  };
  const auto assign = [&] {
    return network->assign_task(ask, room.usage(), used(), ports_of(selection), random_);
  };
  auto assigned = assign();
  if (!assigned && room.preemptor() != nullptr) {
    const auto in_use = used();
    for (const auto& device : network->task_networks()) {
      const auto known = in_use.find(device.device);
      const auto mbits = known == in_use.end() ? 0 : known->second;
      if (!room.preempt(room.preemptor()->for_task_network(ask, device, mbits))) continue;
      assigned = assign();
      break;
    }
  }
  if (!assigned) return reason = "network: " + assigned.error().what, false;
  task.network = std::move(*assigned);
  return true;
}

bool Selector::assign_devices(TaskAssignment& task,
                              Room& room,
                              std::vector<std::string>& taken,
                              std::string& reason) {
  for (const auto request : task.task->task.getResources().getDevices()) {
    const auto assign
        = [&] { return assign_device(room.reader(), request, room.usage(), taken, operands_); };
    auto assigned = assign();
    if (!assigned && room.preemptor() != nullptr) {
      const auto others
          = room.preemptor()->for_device(request, room.reader(), room.usage(), taken, operands_);
      if (room.preempt(others)) assigned = assign();
    }
    if (!assigned) return reason = "devices: no devices match request", false;
    for (const auto id : assigned->ids)
      taken.push_back(assigned->usage_key(id));
    task.devices.push_back(std::move(*assigned));
  }
  return true;
}

/// The lowest free core ids. `taken` are those of the allocation's earlier tasks.
bool Selector::assign_cores(TaskAssignment& task,
                            const Room& room,
                            std::vector<std::uint16_t>& taken) const {
  const auto& capacity = room.node().capacity();
  const auto wanted = static_cast<std::size_t>(task.task->cores);
  for (const auto core : capacity.cores) {
    if (task.cores.size() == wanted) break;
    const bool in_use = std::ranges::binary_search(room.usage().cores(), core)
                        || std::ranges::find(taken, core) != taken.end();
    if (!in_use) task.cores.push_back(core);
  }
  if (task.cores.size() < wanted) return false;
  taken.insert(taken.end(), task.cores.begin(), task.cores.end());
  task.cpu_mhz = capacity.shares_of_cores(task.task->cores);
  return true;
}

void Selector::score(const GroupSpec& group,
                     GroupState& known,
                     const SelectRequest& request,
                     const JobUsage& here,
                     Selection& selection) {
  auto& score = selection.score;
  const auto node = selection.node->reader();
  if (!options_.is_system) {
    const auto own = here.by_group.find(group.name);
    score.set(ScoreName::job_anti_affinity,
              anti_affinity_score(own == here.by_group.end() ? 0 : own->second, group.count));
    const bool penalty = request.penalty_nodes.contains(view(node.getId()));
    score.set(ScoreName::node_reschedule_penalty, penalty ? -1 : 0);
    const double affinity = feasibility_.affinity_score(group, node);
    if (affinity != 0 || group.affinities.empty()) score.set(ScoreName::node_affinity, affinity);
    const double spread = known.spread ? known.spread->score(node) : 0;
    if (spread != 0) score.set(ScoreName::allocation_spread, spread);
    if (!selection.preempted.empty())
      score.set(ScoreName::preemption, preemption_score(net_priority(selection.preempted)));
  }
  selection.normalized = score.normalized();
}

namespace {

void fill_port(schema::Port::Builder into, const AssignedPort& port) {
  into.setLabel(text(port.label));
  into.setValue(port.value);
  into.setTo(port.to);
  into.setHostNetwork(text(port.host_network));
  into.setIgnoreCollision(port.ignores_collision);
}

/// The network as the job asks for it, with what it was given.
void fill_network(schema::NetworkResource::Builder into,
                  schema::NetworkResource::Reader ask,
                  const AssignedNetwork& given) {
  if (!given.device.empty()) into.setDevice(text(given.device));
  into.setIp(text(given.ip));
  into.setMode(ask.getMode());
  if (ask.getHostname().size() > 0) into.setHostname(ask.getHostname());
  into.setMBits(ask.getMBits());
  if (ask.hasDns()) into.setDns(ask.getDns());
  const auto fill = [](auto list, const std::vector<AssignedPort>& ports) {
    for (unsigned i = 0; i < ports.size(); ++i)
      fill_port(list[i], ports[i]);
  };
  const auto size = [](const auto& ports) { return static_cast<unsigned>(ports.size()); };
  if (!given.static_ports.empty())
    fill(into.initReservedPorts(size(given.static_ports)), given.static_ports);
  if (!given.dynamic_ports.empty())
    fill(into.initDynamicPorts(size(given.dynamic_ports)), given.dynamic_ports);
}

void fill_task(schema::AllocatedTaskResources::Builder into,
               const TaskAssignment& task,
               bool memory_oversubscription) {
  auto cpu = into.initCpu();
  cpu.setCpuShares(task.cpu_mhz);
  if (!task.cores.empty()) {
    auto cores = cpu.initReservedCores(static_cast<unsigned>(task.cores.size()));
    for (unsigned i = 0; i < cores.size(); ++i)
      cores.set(i, task.cores[i]);
  }
  auto memory = into.initMemory();
  memory.setMemoryMb(task.task->memory_mb);
  if (memory_oversubscription) memory.setMemoryMaxMb(task.task->memory_max_mb);
  if (task.network) {
    const auto ask = task.task->task.getResources().getNetworks()[0];
    fill_network(into.initNetworks(1)[0], ask, *task.network);
  }
  if (task.devices.empty()) return;
  auto devices = into.initDevices(static_cast<unsigned>(task.devices.size()));
  for (unsigned i = 0; i < devices.size(); ++i) {
    const auto& given = task.devices[i];
    devices[i].setVendor(given.group.getVendor());
    devices[i].setType(given.group.getType());
    devices[i].setName(given.group.getName());
    auto ids = devices[i].initDeviceIds(static_cast<unsigned>(given.ids.size()));
    for (unsigned id = 0; id < ids.size(); ++id)
      ids.set(id, text(given.ids[id]));
  }
}

void fill_shared(schema::AllocatedSharedResources::Builder shared,
                 const GroupSpec& group,
                 const Selection& selection) {
  shared.setDiskMb(group.disk_mb);
  if (!selection.network) return;
  const auto& network = *selection.network;
  fill_network(shared.initNetworks(1)[0], group.group.getNetworks()[0], network);
  const auto statics = network.static_ports.size();
  const auto count = static_cast<unsigned>(statics + network.dynamic_ports.size());
  if (count == 0) return;
  auto ports = shared.initPorts(count);
  for (unsigned i = 0; i < count; ++i) {
    const auto& port = i < statics ? network.static_ports[i] : network.dynamic_ports[i - statics];
    ports[i].setLabel(text(port.label));
    ports[i].setValue(port.value);
    ports[i].setTo(port.to);
    ports[i].setHostIp(text(port.host_ip));
  }
}

}  // namespace

void fill_resources(schema::AllocatedResources::Builder resources,
                    const GroupSpec& group,
                    const Selection& selection,
                    bool memory_oversubscription) {
  std::map<std::string_view, const TaskAssignment*> by_name;
  for (const auto& task : selection.tasks)
    by_name.emplace(task.task->name, &task);
  const auto count = static_cast<unsigned>(by_name.size());
  auto tasks = resources.initTasks(count);
  auto lifecycles = resources.initTaskLifecycles(count);
  unsigned next = 0;
  for (const auto& [name, task] : by_name) {
    tasks[next].setKey(text(name));
    fill_task(tasks[next].initValue(), *task, memory_oversubscription);
    lifecycles[next].setKey(text(name));
    const auto spec = task->task->task;
    if (spec.hasLifecycle()) lifecycles[next].setValue(spec.getLifecycle());
    ++next;
  }
  fill_shared(resources.initShared(), group, selection);
}

}  // namespace nomad::scheduler
