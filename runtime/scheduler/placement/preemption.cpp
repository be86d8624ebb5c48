#include "runtime/scheduler/placement/preemption.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/placement/devices.hpp"

namespace nomad::scheduler {
namespace {

/// Jobs whose priorities are closer to each other do not preempt each other.
constexpr std::int64_t least_priority_gap = 10;

constexpr double too_many_penalty = 50;

std::int64_t max_parallel_of(const state::AllocRow& row) {
  for (const auto group : row.job->getTaskGroups()) {
    if (view(group.getName()) == row.alloc->task_group())
      return group.hasMigrate() ? group.getMigrate().getMaxParallel() : 0;
  }
  return 0;
}

bool contains(const Preempted& rows, const state::AllocRef& row) {
  return std::ranges::any_of(rows, [&row](const auto& other) { return other.is_same(row); });
}

double penalty_of(const state::AllocRow& row, const PreemptionCounts& counts) {
  const auto alloc = *row.alloc;
  const auto known = counts.find(
      {std::string{alloc.ns()}, std::string{alloc.job_id()}, std::string{alloc.task_group()}});
  const auto gone = known == counts.end() ? 0 : static_cast<std::int64_t>(known->second);
  const auto most = max_parallel_of(row);
  if (most <= 0 || gone < most) return 0;
  return static_cast<double>(gone + 1 - most) * too_many_penalty;
}

/// How far `used` is from `ask`, each amount in proportion; what is not asked for does not count.
double distance(const state::Demand& ask, const state::Demand& used) {
  const auto part = [](std::int64_t wanted, std::int64_t there) {
    if (wanted <= 0) return 0.0;
    return static_cast<double>(wanted - there) / static_cast<double>(wanted);
  };
  return std::hypot(part(ask.memory_mb, used.memory_mb), part(ask.cpu_mhz, used.cpu_mhz),
                    part(ask.disk_mb, used.disk_mb));
}

bool is_enough(const state::Demand& available, const state::Demand& ask) {
  return available.cpu_mhz >= ask.cpu_mhz && available.memory_mb >= ask.memory_mb
         && available.disk_mb >= ask.disk_mb;
}

/// Keeps, of those chosen, as many as are needed, the least fitting first.
template <class Distance, class Enough>
Preempted pruned(Preempted chosen, const Distance& distance, const Enough& suffices) {
  sort_stably(chosen, std::ranges::greater{}, distance);
  Preempted kept;
  for (auto& row : chosen) {
    kept.push_back(std::move(row));
    if (suffices(kept)) break;
  }
  return kept;
}

bool holds_one_of(AllocView alloc, const std::vector<HostPort>& ports) {
  return std::ranges::any_of(ports, [&](const HostPort& port) { return holds_port(alloc, port); });
}

std::int64_t bandwidth_on(AllocView alloc, std::string_view device) {
  Bandwidth used;
  add_bandwidth(alloc.resources(), used);
  const auto known = used.find(device);
  return known == used.end() ? 0 : known->second;
}

std::int64_t bandwidth_of(const Preempted& rows, std::string_view device) {
  std::int64_t sum = 0;
  for (const auto& row : rows)
    sum += bandwidth_on(*row->alloc, device);
  return sum;
}

/// How many of the usable instances of a device group the allocation holds.
std::size_t instances_held(AllocView alloc,
                           schema::NodeDeviceGroup::Reader group,
                           const std::vector<std::string_view>& usable) {
  std::size_t held = 0;
  for (const auto entry : alloc.resources().getTasks()) {
    for (const auto device : entry.getValue().getDevices()) {
      if (view(device.getVendor()) != view(group.getVendor())
          || view(device.getType()) != view(group.getType())
          || view(device.getName()) != view(group.getName()))
        continue;
      for (const auto id : device.getDeviceIds())
        held += std::ranges::find(usable, view(id)) == usable.end() ? 0 : 1;
    }
  }
  return held;
}

/// The sum of the different priorities of those that would go.
std::int64_t worth(const Preempted& rows) {
  std::set<std::int64_t> priorities;
  for (const auto& row : rows)
    priorities.insert(row->job->getPriority());
  std::int64_t sum = 0;
  for (const auto priority : priorities)
    sum += priority;
  return sum;
}

}  // namespace

bool holds_port(AllocView alloc, const HostPort& wanted) {
  const auto resources = alloc.resources();
  for (const auto port : resources.getShared().getPorts())
    if (port.getValue() == wanted.value && view(port.getHostIp()) == wanted.ip) return true;
  for (const auto entry : resources.getTasks()) {
    for (const auto network : entry.getValue().getNetworks()) {
      if (view(network.getIp()) != wanted.ip) continue;
      for (const auto port : network.getReservedPorts())
        if (port.getValue() == wanted.value) return true;
      for (const auto port : network.getDynamicPorts())
        if (port.getValue() == wanted.value) return true;
    }
  }
  return false;
}

Preemptor::Preemptor(schema::Job::Reader job,
                     const std::vector<state::AllocRef>& on_node,
                     const PreemptionCounts& counts) {
  for (const auto& row : on_node) {
    if (row->server_terminal) continue;  // it ends anyway
    const auto alloc = *row->alloc;
    const std::int64_t priority = row->job->getPriority();
    const bool is_own
        = alloc.job_id() == view(job.getId()) && alloc.ns() == view(job.getNamespace());
    if (is_own) continue;
    if (job.getPriority() - priority < least_priority_gap) continue;
    candidates_.push_back({row, priority, penalty_of(*row, counts)});
  }
  std::ranges::sort(candidates_, [](const Candidate& a, const Candidate& b) {
    const auto left = *a.row->alloc;
    const auto right = *b.row->alloc;
    if (a.priority != b.priority) return a.priority < b.priority;
    if (left.create_index() != right.create_index())
      return left.create_index() > right.create_index();
    return left.id() < right.id();
  });
}

Preempted Preemptor::for_resources(const state::Demand& ask, const state::Demand& free) const {
  auto left = candidates_;
  auto needed = ask;
  auto available = free;
  Preempted chosen;
  while (!left.empty() && !is_enough(available, ask)) {
    auto nearest = left.begin();
    const auto score = [&needed](const Candidate& candidate) {
      return distance(needed, candidate.row->demand) + candidate.penalty;
    };
    for (auto other = left.begin(); other != left.end(); ++other) {
      if (other->priority != left.front().priority) break;
      if (score(*other) < score(*nearest)) nearest = other;
    }
    available += nearest->row->demand;
    needed -= nearest->row->demand;
    chosen.push_back(nearest->row);
    left.erase(nearest);
  }
  if (!is_enough(available, ask)) return {};
  return pruned(
      std::move(chosen), [&ask](const state::AllocRef& row) { return distance(ask, row->demand); },
      [&](const Preempted& kept) {
        auto with_them = free;
        for (const auto& row : kept)
          with_them += row->demand;
        return is_enough(with_them, ask);
      });
}

Preempted Preemptor::for_ports(const std::vector<HostPort>& needed) const {
  Preempted holders;
  for (const auto& candidate : candidates_)
    if (holds_one_of(*candidate.row->alloc, needed)) holders.push_back(candidate.row);
  return holders;
}

Preempted Preemptor::for_task_network(schema::NetworkResource::Reader ask,
                                      const TaskNetwork& network,
                                      std::int64_t used) const {
  if (network.mbits < ask.getMBits()) return {};
  std::vector<HostPort> needed;
  for (const auto port : ask.getReservedPorts())
    needed.push_back({network.ip, port.getValue()});
  auto chosen = for_ports(needed);
  const auto free
      = network.mbits - used + bandwidth_of(chosen, network.device);  // with the ports' holders
  if (free >= ask.getMBits()) return chosen;

  struct Offer {
    const Candidate* candidate;
    double score;
  };

  std::vector<Offer> offers;
  const auto away = [&](const state::AllocRef& row) {
    const auto wanted = static_cast<double>(ask.getMBits());
    return std::abs((wanted - static_cast<double>(bandwidth_on(*row->alloc, network.device)))
                    / wanted);
  };
  for (const auto& candidate : candidates_) {
    if (!contains(chosen, candidate.row) && bandwidth_on(*candidate.row->alloc, network.device) > 0)
      offers.push_back({&candidate, away(candidate.row) + candidate.penalty});
  }
  sort_stably(offers, [](const Offer& a, const Offer& b) {
    return std::pair{a.candidate->priority, a.score} < std::pair{b.candidate->priority, b.score};
  });
  const auto suffices = [&](const Preempted& more) {
    return free + bandwidth_of(more, network.device) >= ask.getMBits();
  };
  Preempted more;
  for (auto offer = offers.begin(); offer != offers.end() && !suffices(more); ++offer)
    more.push_back(offer->candidate->row);
  if (!suffices(more)) return {};
  more = pruned(std::move(more), away, suffices);
  chosen.insert(chosen.end(), more.begin(), more.end());
  return chosen;
}

Preempted Preemptor::for_device(schema::RequestedDevice::Reader request,
                                schema::Node::Reader node,
                                const state::NodeUsage& usage,
                                const std::vector<std::string>& offered,
                                OperandChecker& operands) const {
  Preempted best;
  for (const auto group : node.getNodeResources().getDevices()) {
    if (!matches_device(request, group, operands)) continue;
    const auto usable = usable_instances(request, group, operands);
    const auto free = static_cast<std::size_t>(std::ranges::count_if(usable, [&](auto id) {
      const auto key = device_key(group, id);
      return !std::ranges::binary_search(usage.devices(), key)
             && std::ranges::find(offered, key) == offered.end();
    }));
    const auto held
        = [&](const state::AllocRef& row) { return instances_held(*row->alloc, group, usable); };
    const auto suffices = [&](const Preempted& rows) {
      auto count = free;
      for (const auto& row : rows)
        count += held(row);
      return count >= device_count(request);
    };
    Preempted chosen;
    for (const auto& candidate : candidates_) {
      if (suffices(chosen)) break;
      if (held(candidate.row) > 0) chosen.push_back(candidate.row);
    }
    if (chosen.empty() || !suffices(chosen)) continue;
    chosen = pruned(std::move(chosen), held, suffices);
    if (best.empty() || worth(chosen) < worth(best)) best = std::move(chosen);
  }
  return best;
}

void Preemptor::remove(const Preempted& gone) {
  std::erase_if(candidates_,
                [&gone](const Candidate& candidate) { return contains(gone, candidate.row); });
}

double net_priority(const Preempted& preempted) {
  double highest = 0;
  double sum = 0;
  for (const auto& row : preempted) {
    const auto priority = static_cast<double>(row->job->getPriority());
    highest = std::max(highest, priority);
    sum += priority;
  }
  return highest > 0 ? highest + sum / highest : 0;
}

double preemption_score(double net_priority) {
  constexpr double rate = 0.0048;
  constexpr double origin = 2048;
  return 1 / (1 + std::exp(rate * (net_priority - origin)));
}

}  // namespace nomad::scheduler
