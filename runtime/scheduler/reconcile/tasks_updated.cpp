#include "runtime/scheduler/reconcile/tasks_updated.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <capnp/any.h>

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"

namespace nomad::scheduler {
namespace {

using Job = schema::Job::Reader;
using Group = schema::TaskGroup::Reader;
using Task = schema::Task::Reader;
using Networks = capnp::List<schema::NetworkResource>::Reader;

template <class T>
bool same_list(typename capnp::List<T>::Reader a, typename capnp::List<T>::Reader b) {
  return capnp::AnyList::Reader{a} == capnp::AnyList::Reader{b};
}

template <class Reader>
bool same_struct(Reader a, Reader b) {
  return capnp::AnyStruct::Reader{a} == capnp::AnyStruct::Reader{b};
}

bool same(capnp::Text::Reader a, capnp::Text::Reader b) {
  return view(a) == view(b);
}

/// A port as far as it matters before it is given a value: a dynamic one is -1.
using PortKey = std::tuple<std::string_view, std::int32_t, std::int32_t, std::string_view>;

std::vector<PortKey> ports_of(schema::NetworkResource::Reader network) {
  std::vector<PortKey> ports;
  for (const auto port : network.getReservedPorts())
    ports.emplace_back(view(port.getLabel()), port.getValue(), port.getTo(),
                       view(port.getHostNetwork()));
  for (const auto port : network.getDynamicPorts())
    ports.emplace_back(view(port.getLabel()), -1, port.getTo(), view(port.getHostNetwork()));
  std::ranges::sort(ports);
  return ports;
}

bool same_networks(Networks a, Networks b) {
  if (a.size() != b.size()) return false;
  for (unsigned i = 0; i < a.size(); ++i) {
    if (!same(a[i].getMode(), b[i].getMode()) || a[i].getMBits() != b[i].getMBits()
        || !same(a[i].getHostname(), b[i].getHostname())
        || !same_struct(a[i].getDns(), b[i].getDns()) || ports_of(a[i]) != ports_of(b[i]))
      return false;
  }
  return true;
}

using Meta = std::map<std::string_view, std::string_view>;

void merge(Meta& into, capnp::List<schema::TextEntry>::Reader from) {
  for (const auto entry : from)
    into[view(entry.getKey())] = view(entry.getValue());
}

Meta merged_meta(Job job, Group group, Task task) {
  Meta meta;
  merge(meta, job.getMeta());
  merge(meta, group.getMeta());
  merge(meta, task.getMeta());
  return meta;
}

using AffinityKey = std::tuple<std::string_view, std::string_view, std::string_view, int>;

std::vector<AffinityKey> merged_affinities(Job job, Group group) {
  std::vector<AffinityKey> all;
  const auto add = [&all](capnp::List<schema::Affinity>::Reader affinities) {
    for (const auto affinity : affinities)
      all.emplace_back(view(affinity.getLTarget()), view(affinity.getRTarget()),
                       view(affinity.getOperand()), affinity.getWeight());
  };
  add(job.getAffinities());
  add(group.getAffinities());
  for (const auto task : group.getTasks())
    add(task.getAffinities());
  return all;
}

bool same_spreads(Job job_a, Group a, Job job_b, Group b) {
  const auto collect = [](Job job, Group group) {
    std::vector<schema::Spread::Reader> all;
    for (const auto spread : job.getSpreads())
      all.push_back(spread);
    for (const auto spread : group.getSpreads())
      all.push_back(spread);
    return all;
  };
  return std::ranges::equal(collect(job_a, a), collect(job_b, b),
                            [](auto x, auto y) { return same_struct(x, y); });
}

/// Connect of the group's services; its proxies are built once.
std::vector<std::tuple<std::string_view, std::string_view, std::string_view>> connect_of(
    Group group) {
  std::vector<std::tuple<std::string_view, std::string_view, std::string_view>> all;
  for (const auto service : group.getServices()) {
    if (service.getConnect().size() > 0)
      all.emplace_back(view(service.getName()), view(service.getPortLabel()),
                       view(service.getConnect()));
  }
  return all;
}

bool same_resources(schema::Resources::Reader a, schema::Resources::Reader b) {
  return a.getCpu() == b.getCpu() && a.getCores() == b.getCores()
         && a.getMemoryMb() == b.getMemoryMb() && a.getMemoryMaxMb() == b.getMemoryMaxMb()
         && same_list<schema::RequestedDevice>(a.getDevices(), b.getDevices())
         && same_networks(a.getNetworks(), b.getNetworks());
}

bool same_task(Task a, Task b) {
  return same(a.getDriver(), b.getDriver()) && same(a.getUser(), b.getUser())
         && same(a.getConfig(), b.getConfig())
         && same_list<schema::TextEntry>(a.getEnv(), b.getEnv())
         && same_list<schema::Artifact>(a.getArtifacts(), b.getArtifacts())
         && a.hasVault() == b.hasVault() && same_struct(a.getVault(), b.getVault())
         && same_list<schema::Template>(a.getTemplates(), b.getTemplates())
         && same_struct(a.getCsiPluginConfig(), b.getCsiPluginConfig())
         && same_list<schema::VolumeMount>(a.getVolumeMounts(), b.getVolumeMounts())
         && same_resources(a.getResources(), b.getResources())
         && same_struct(a.getIdentity(), b.getIdentity())
         && a.getLogConfig().getDisabled() == b.getLogConfig().getDisabled()
         && a.getRestartPolicy().getRenderTemplates() == b.getRestartPolicy().getRenderTemplates();
}

bool same_group(Job job_a, Group a, Job job_b, Group b) {
  return a.getTasks().size() == b.getTasks().size()
         && same_struct(a.getEphemeralDisk(), b.getEphemeralDisk())
         && same_networks(a.getNetworks(), b.getNetworks())
         && merged_affinities(job_a, a) == merged_affinities(job_b, b)
         && same_spreads(job_a, a, job_b, b)
         && same(a.getConsul().getNamespace(), b.getConsul().getNamespace())
         && connect_of(a) == connect_of(b)
         && same_list<schema::TaskGroup::VolumeEntry>(a.getVolumes(), b.getVolumes())
         && a.getRestartPolicy().getRenderTemplates() == b.getRestartPolicy().getRenderTemplates();
}

std::optional<Task> find_task(Group group, capnp::Text::Reader name) {
  for (const auto task : group.getTasks()) {
    if (same(task.getName(), name)) return task;
  }
  return std::nullopt;
}

}  // namespace

bool tasks_updated(Job before, Job after, std::string_view name) {
  const auto old_group = find_group(before, name);
  const auto new_group = find_group(after, name);
  if (!old_group || !new_group) return true;
  if (!same_group(before, *old_group, after, *new_group)) return true;
  for (const auto task : old_group->getTasks()) {
    const auto match = find_task(*new_group, task.getName());
    if (!match || !same_task(task, *match)
        || merged_meta(before, *old_group, task) != merged_meta(after, *new_group, *match))
      return true;
  }
  return false;
}

}  // namespace nomad::scheduler
