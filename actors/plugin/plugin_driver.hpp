// PluginDriver: stands for a plugin's driver. It lives as long as one process of the plugin: when
// that ends, so does this, and the driver_manager has another one recover what runs.
//
// Owns:   nothing.
// Takes:  what Driver takes, and passes it on to the PluginLink.
// Parent: driver_manager, report: another one follows.
// Ends:   with the plugin's process, or by its owner.
#pragma once

#include "actors/client/plugin_catalog.hpp"
#include "actors/plugin/plugin_link.hpp"

namespace nomad::plugin {

/// The entry of the catalog for a driver that a plugin has declared.
client::DriverEntry plugin_driver(const PluginLink& link);

client::Driver spawn_plugin_driver(const actor::Owner& owner,
                                   const PluginLink& link,
                                   const client::DriverOptions& options);

}  // namespace nomad::plugin
