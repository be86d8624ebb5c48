// A plugin with two hooks, and whoever they are asked for: what tests of the PluginLink ask.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "test/unit/actors/plugin/link_fixture.hpp"

namespace nomad::test {

/// A hook that leaves its phase open, and one that answers.
inline void two_hooks(plugin::Plugin& plugin) {
  plugin.is("p", "1.2.3")
      .task_hook({.name = "answers", .phases = {plugin::Phase::PRESTART}},
                 plugin::hook_of([](plugin::HookHost& host,
                                    const plugin::HookCall& call) -> Result<plugin::HookAnswer> {
                   host.event("Test", call.alloc_id() + '/' + call.task());
                   return plugin::HookAnswer{.environment = {{"A", "1"}}};
                 }))
      .task_hook({.name = "waits", .phases = {plugin::Phase::PRESTART}}, [](plugin::HookHost&) {
        struct Waits final : plugin::Hook {
          void run(const plugin::HookCall&, const plugin::HookReply& reply) override {
            open.push_back(reply);
          }

          std::vector<plugin::HookReply> open;
        };

        return std::make_unique<Waits>();
      });
}

/// What a runner is to its hooks.
struct Runner {
  std::shared_ptr<std::vector<std::string>> told = std::make_shared<std::vector<std::string>>();

  client::PluginHost spawn(ActorFixture& fixture) const {
    return fixture.adopt(actor::spawn(
        fixture.system(),
        [told = told](client::PluginHost::pointer) -> client::PluginHost::behavior_type {
          return {
              [told](const client::plugin_host::Notice& msg) {
                told->push_back(copy(msg.notice->getAllocId()) + ':'
                                + copy(msg.notice->getEvent().getMessage()));
              },
              [](const client::plugin_host::Ask&) -> actor::Answer<client::plugin_host::Answered> {
                return client::plugin_host::Answered{};
              }};
        }));
  }
};

inline plugin::plugin_link::RunHook run_of(const LinkFixture& fixture,
                                           std::uint64_t instance,
                                           const char* hook,
                                           const client::PluginHost& host) {
  return {instance, hook, fixture.phase(plugin::Phase::PRESTART), LinkFixture::scope().target,
          host};
}

}  // namespace nomad::test
