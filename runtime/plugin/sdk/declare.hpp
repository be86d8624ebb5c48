// What a plugin declares and decides, as an agent reads it. Internal to the SDK.
#pragma once

#include "runtime/plugin/sdk/plugin.hpp"
#include "schema/plugin_link.capnp.h"

namespace nomad::plugin {

/// `to` has as many elements.
void fill_fields(capnp::List<schema::plugin::ConfigField>::Builder to,
                 const std::vector<ConfigField>& from);

void fill_decision(schema::plugin::Decision::Builder to, const Decision& from);

/// `to` has as many elements.
void fill_devices(capnp::List<schema::plugin::DeviceGroup>::Builder to,
                  const DeviceSpec& spec,
                  const std::vector<DeviceGroup>& from);

void fill_declaration(schema::plugin::Declaration::Builder to, const Plugin& plugin);

}  // namespace nomad::plugin
