// CSI volumes and plugins as the API shows them: what is stored, with what is true of the plugin at
// that moment, and without secrets. Pure.
#pragma once

#include <string>

#include "runtime/state/volumes/csi_plugins.hpp"

namespace nomad::cluster {

/// All of a volume but secrets, the flags of its mount options, and the stubs of its allocations,
/// which are `allocations`: JSON. `plugin` is null when nobody names it.
Object<schema::CsiVolume> volume_answer(const Object<schema::CsiVolume>& volume,
                                        const state::CsiPlugin* plugin,
                                        const std::string& allocations);

/// Its line in a list.
Object<schema::CsiVolumeStub> volume_stub(schema::CsiVolume::Reader volume,
                                          const state::CsiPlugin* plugin);

/// `allocations` as above.
Object<schema::CsiPlugin> plugin_answer(const state::CsiPlugin& plugin,
                                        const std::string& allocations);

Object<schema::CsiPluginStub> plugin_stub(const state::CsiPlugin& plugin);

/// What a node is told of a volume that it has claimed: flags, and no secrets or claims.
Object<schema::CsiVolume> volume_for_node(const Object<schema::CsiVolume>& volume);

/// How the plugin calls the volume.
std::string external_id(schema::CsiVolume::Reader volume);

}  // namespace nomad::cluster
