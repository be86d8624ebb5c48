#include "actors/plugin/plugin_driver.hpp"

#include "actors/core/actor_registry.hpp"
#include "actors/core/supervise.hpp"

namespace nomad::plugin {
namespace {

struct PluginDriverState {
  static constexpr const char* name = "plugin_driver";

  PluginLink link;
  std::string driver;
};

client::Driver::behavior_type plugin_driver_actor(
    client::Driver::stateful_pointer<PluginDriverState> self,
    PluginLink link,
    client::DriverOptions options) {
  self->state.link = std::move(link);
  self->state.driver = options.name;
  actor::set_about(*self, options.name);
  self->send(self->state.link,
             plugin_link::ServeDriver{options.name, client::Driver{self}, options.agent});
  return {[self](const client::driver::Ask& msg) -> actor::Answer<client::driver::Answered> {
    return self->delegate(self->state.link,
                          plugin_link::AskDriver{self->state.driver, msg.request});
  }};
}

}  // namespace

client::Driver spawn_plugin_driver(const actor::Owner& owner,
                                   const PluginLink& link,
                                   const client::DriverOptions& options) {
  return actor::spawn(owner, plugin_driver_actor, link, options);
}

client::DriverEntry plugin_driver(const PluginLink& link) {
  return {.spawn = [link](const actor::Owner& owner, const client::DriverOptions& options) {
    return spawn_plugin_driver(owner, link, options);
  }};
}

}  // namespace nomad::plugin
