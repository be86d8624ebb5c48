// PluginHook: stands for one instance of a plugin's hook: for a task, or an allocation.
//
// Owns:   nothing but the instance's number.
// Takes:  what Hook takes, and passes it on to the PluginLink.
// Parent: alloc_runner, report: as with any hook.
// Ends:   by its runner; the plugin is told.
#pragma once

#include "actors/plugin/plugin_link.hpp"

namespace nomad::plugin {

/// The entry of the catalog for a hook that a plugin has declared.
client::HookEntry plugin_hook(const PluginLink& link,
                              schema::plugin::Declaration::Hook::Reader hook);

client::Hook spawn_plugin_hook(const actor::Owner& owner,
                               const PluginLink& link,
                               const std::string& hook,
                               const client::PluginAgent& agent,
                               const client::HookScope& scope);

}  // namespace nomad::plugin
