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
                 plugin::hook_of([](plugin::HookRunner& runner,
                                    const plugin::HookCall& call) -> Result<plugin::HookAnswer> {
                   runner.event("Test", call.alloc_id() + '/' + call.task());
                   return plugin::HookAnswer{.environment = {{"A", "1"}}};
                 }))
      .task_hook({.name = "waits", .phases = {plugin::Phase::PRESTART}}, [](plugin::HookRunner&) {
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

  client::PluginAgent spawn(ActorFixture& fixture) const {
    return fixture.adopt(actor::spawn(
        fixture.system(),
        [told = told](client::PluginAgent::pointer) -> client::PluginAgent::behavior_type {
          return {[told](const client::plugin_agent::Notice& msg) {
                    told->push_back(copy(msg.notice->getAllocId()) + ':'
                                    + copy(msg.notice->getEvent().getMessage()));
                  },
                  [](const client::plugin_agent::Ask&)
                      -> actor::Answer<client::plugin_agent::Answered> {
                    return client::plugin_agent::Answered{};
                  }};
        }));
  }
};

inline plugin::plugin_link::RunHook run_of(const LinkFixture& fixture,
                                           std::uint64_t instance,
                                           const char* hook,
                                           const client::PluginAgent& agent) {
  return {instance, hook, fixture.phase(plugin::Phase::PRESTART), LinkFixture::scope().target,
          agent};
}

}  // namespace nomad::test
