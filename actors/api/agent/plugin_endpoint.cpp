// /v1/agent/plugins: the plugins of this agent and how they stand. (/v1/plugins is CSI's.)

#include "actors/api/http/json_out.hpp"
#include "actors/api/http/routes.hpp"

namespace nomad::api {
namespace {

void append_names(std::string& out, const std::vector<std::string>& names) {
  out += '[';
  for (const auto& name : names) {
    if (out.back() != '[') out += ',';
    append_json_text(out, name);
  }
  out += ']';
}

/// What it brings, each kind with its names.
void append_kinds(std::string& out, const Object<schema::plugin::Declaration>& declaration) {
  std::vector<std::string> task_hooks, alloc_hooks, drivers, fingerprinters, actors, schedulers,
      providers, config;
  if (declaration) {
    for (const auto hook : declaration->getHooks())
      (hook.getOfAllocation() ? alloc_hooks : task_hooks).push_back(copy(hook.getName()));
    for (const auto driver : declaration->getDrivers())
      drivers.push_back(copy(driver));
    for (const auto each : declaration->getFingerprinters())
      fingerprinters.push_back(copy(each.getName()));
    for (const auto each : declaration->getActors())
      actors.push_back(copy(each));
    for (const auto each : declaration->getSchedulers())
      schedulers.push_back(copy(each.getType()));
    for (const auto each : declaration->getServiceProviders())
      providers.push_back(copy(each.getName()));
    for (const auto field : declaration->getConfig())
      config.push_back(copy(field.getName()));
  }
  JsonObject object{out};
  append_names(object.raw("TaskHooks"), task_hooks);
  append_names(object.raw("AllocHooks"), alloc_hooks);
  append_names(object.raw("Drivers"), drivers);
  append_names(object.raw("Fingerprinters"), fingerprinters);
  append_names(object.raw("Actors"), actors);
  append_names(object.raw("Schedulers"), schedulers);
  append_names(object.raw("ServiceProviders"), providers);
  append_names(object.raw("Config"), config);
}

void append_plugin(std::string& out, const plugin::PluginStatus& one) {
  JsonObject object{out};
  object.text("Name", one.name)
      .text("Version", one.declaration ? copy(one.declaration->getVersion()) : std::string{})
      .text("SDK", one.declaration ? copy(one.declaration->getSdk()) : std::string{})
      .text("Path", one.path)
      .boolean("Isolated", one.isolated)
      .text("Status", plugin::to_string(one.state))
      .text("StatusDescription", one.problem)
      .number("StatusSince", one.since)
      .number("PID", one.pid)
      .number("Restarts", one.restarts)
      .number("MessagesIn", one.frames_in)
      .number("MessagesOut", one.frames_out)
      .number("LogLinesDropped", one.lines_dropped)
      .number("EventsDropped", one.events_dropped)
      .number("Delays", one.delays);
  append_kinds(object.raw("Provides"), one.declaration);
}

using States = std::shared_ptr<const plugin::PluginStates>;

Outcome list_plugins(Call&, const States& states) {
  return Answer::json(
      json_list(states ? states->list() : std::vector<plugin::PluginStatus>{}, append_plugin));
}

}  // namespace

void add_plugin_routes(Routes& routes, std::shared_ptr<const plugin::PluginStates> states) {
  const auto with = routes.with(std::move(states));
  routes.exact("/v1/agent/plugins",
               {{Methods::get, Capability::agent_read, with(list_plugins), Where::named}});
}

}  // namespace nomad::api
