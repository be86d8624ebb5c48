#include "runtime/plugin/sdk/declare.hpp"

#include "runtime/plugin/sdk/wire.hpp"

namespace nomad::plugin {
namespace {

template <class List>
unsigned count(const List& list) {
  return static_cast<unsigned>(list.size());
}

void fill_hook(schema::plugin::Declaration::Hook::Builder to,
               const HookSpec& from,
               bool of_allocation) {
  to.setName(text_of(from.name));
  to.setOfAllocation(of_allocation);
  to.setAfter(text_of(from.after));
  auto phases = to.initPhases(count(from.phases));
  for (unsigned i = 0; i < phases.size(); ++i)
    phases.set(i, from.phases[i]);
  to.setWatchesTasks(from.watches_tasks);
  to.setReadsEnvironment(from.reads_environment);
  to.setAnnouncement(text_of(from.announcement));
  to.setPatience(from.patience.count());
  to.setMeta(text_of(from.meta));
  to.setDevices(text_of(from.devices));
}

}  // namespace

void fill_fields(capnp::List<schema::plugin::ConfigField>::Builder to,
                 const std::vector<ConfigField>& from) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setName(text_of(from[i].name));
    to[i].setKind(from[i].kind);
    to[i].setRequired(from[i].required);
    fill_fields(to[i].initFields(count(from[i].fields)), from[i].fields);
  }
}

void fill_decision(schema::plugin::Decision::Builder to, const Decision& from) {
  auto stops = to.initStops(count(from.stops));
  for (unsigned i = 0; i < stops.size(); ++i) {
    stops[i].setAllocId(text_of(from.stops[i].alloc_id));
    stops[i].setDescription(text_of(from.stops[i].description));
  }
  auto placements = to.initPlacements(count(from.placements));
  for (unsigned i = 0; i < placements.size(); ++i) {
    placements[i].setGroup(text_of(from.placements[i].group));
    placements[i].setNodeId(text_of(from.placements[i].node_id));
    placements[i].setReplaces(text_of(from.placements[i].replaces));
  }
  auto unplaced = to.initUnplaced(count(from.unplaced));
  for (unsigned i = 0; i < unplaced.size(); ++i) {
    unplaced[i].setGroup(text_of(from.unplaced[i].group));
    unplaced[i].setCount(from.unplaced[i].count);
    unplaced[i].setReason(text_of(from.unplaced[i].reason));
  }
}

void fill_devices(capnp::List<schema::plugin::DeviceGroup>::Builder to,
                  const DeviceSpec& spec,
                  const std::vector<DeviceGroup>& from) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setVendor(text_of(spec.vendor));
    to[i].setType(text_of(spec.type));
    to[i].setName(text_of(from[i].name));
    fill_entries(to[i].initAttributes(count(from[i].attributes)), from[i].attributes);
    auto instances = to[i].initInstances(count(from[i].instances));
    for (unsigned j = 0; j < instances.size(); ++j) {
      instances[j].setId(text_of(from[i].instances[j].id));
      instances[j].setHealthy(from[i].instances[j].healthy);
      instances[j].setHealthDescription(text_of(from[i].instances[j].health_description));
    }
  }
}

void fill_declaration(schema::plugin::Declaration::Builder to, const Plugin& plugin) {
  to.setLinkVersion(1);
  to.setName(text_of(plugin.name));
  to.setVersion(text_of(plugin.version));
  to.setSdk("C++ 1");
  fill_fields(to.initConfig(count(plugin.fields)), plugin.fields);
  auto hooks = to.initHooks(count(plugin.task_hooks) + count(plugin.alloc_hooks));
  unsigned position = 0;
  for (const auto& hook : plugin.task_hooks)
    fill_hook(hooks[position++], hook.spec, false);
  for (const auto& hook : plugin.alloc_hooks)
    fill_hook(hooks[position++], hook.spec, true);
  auto drivers = to.initDrivers(count(plugin.drivers));
  for (unsigned i = 0; i < drivers.size(); ++i)
    drivers.set(i, text_of(plugin.drivers[i].spec));
  auto fingerprinters
      = to.initFingerprinters(count(plugin.fingerprinters) + count(plugin.device_finders));
  unsigned next = 0;
  for (const auto& each : plugin.fingerprinters) {
    fingerprinters[next].setName(text_of(each.spec.name));
    fingerprinters[next++].setInterval(each.spec.interval.count());
  }
  for (const auto& each : plugin.device_finders) {
    fingerprinters[next].setName(text_of(each.spec.name));
    fingerprinters[next++].setInterval(each.spec.spec.interval.count());
  }
  auto actors = to.initActors(count(plugin.actors));
  for (unsigned i = 0; i < actors.size(); ++i)
    actors.set(i, text_of(plugin.actors[i].spec));
  auto schedulers = to.initSchedulers(count(plugin.schedulers));
  for (unsigned i = 0; i < schedulers.size(); ++i) {
    const auto& spec = plugin.schedulers[i].spec;
    schedulers[i].setType(text_of(spec.type));
    auto reads = schedulers[i].initReads(count(spec.reads));
    for (unsigned j = 0; j < reads.size(); ++j)
      reads.set(j, text_of(spec.reads[j]));
  }
  auto providers = to.initServiceProviders(count(plugin.service_providers));
  for (unsigned i = 0; i < providers.size(); ++i) {
    providers[i].setName(text_of(plugin.service_providers[i].spec.name));
    providers[i].setHearsChecks(plugin.service_providers[i].spec.hears_checks);
  }
}

}  // namespace nomad::plugin
