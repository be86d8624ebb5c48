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

void fill_declaration(schema::plugin::Declaration::Builder to, const Plugin& plugin) {
  to.setLinkVersion(1);
  to.setName(text_of(plugin.name));
  to.setVersion(text_of(plugin.version));
  to.setSdk("C++ 1");
  fill_fields(to.initConfig(count(plugin.fields)), plugin.fields);
  auto hooks = to.initHooks(count(plugin.task_hooks) + count(plugin.alloc_hooks));
  unsigned place = 0;
  for (const auto& hook : plugin.task_hooks)
    fill_hook(hooks[place++], hook.spec, false);
  for (const auto& hook : plugin.alloc_hooks)
    fill_hook(hooks[place++], hook.spec, true);
  auto drivers = to.initDrivers(count(plugin.drivers));
  for (unsigned i = 0; i < drivers.size(); ++i)
    drivers.set(i, text_of(plugin.drivers[i].spec));
  auto fingerprinters = to.initFingerprinters(count(plugin.fingerprinters));
  for (unsigned i = 0; i < fingerprinters.size(); ++i) {
    fingerprinters[i].setName(text_of(plugin.fingerprinters[i].spec.name));
    fingerprinters[i].setInterval(plugin.fingerprinters[i].spec.interval.count());
  }
  auto actors = to.initActors(count(plugin.actors));
  for (unsigned i = 0; i < actors.size(); ++i)
    actors.set(i, text_of(plugin.actors[i].spec));
}

}  // namespace nomad::plugin
