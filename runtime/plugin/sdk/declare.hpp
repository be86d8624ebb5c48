// The declaration of a plugin, as an agent reads it. Internal to the SDK.
#pragma once

#include "runtime/plugin/sdk/plugin.hpp"
#include "schema/plugin_link.capnp.h"

namespace nomad::plugin {

/// `to` has as many elements.
void fill_fields(capnp::List<schema::plugin::ConfigField>::Builder to,
                 const std::vector<ConfigField>& from);

void fill_declaration(schema::plugin::Declaration::Builder to, const Plugin& plugin);

}  // namespace nomad::plugin
