// CSI volumes as a kind (kinds.hpp says what a descriptor has), and what is derived of the plugins
// that they are of, which are rows of no table: a plugin is what nodes, jobs and volumes name.
// Conditions of their commands: volumes/apply_volume.cpp.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/state/kinds/kind.hpp"
#include "schema/csi.capnp.h"

namespace nomad::state {

namespace kind {

struct CsiVolumes : Stored<schema::CsiVolume, Table::csi_volumes> {
  struct Rows {
    Objects<Type> csi_volumes;                   ///< namespace\0id
    Objects<Type> csi_volumes_by_plugin;         ///< plugin\0namespace\0id
    PersistentMap<Nothing> csi_volumes_claimed;  ///< namespace\0id, of those that have claims
  };

  static constexpr auto rows = &Rows::csi_volumes;
  static constexpr std::string_view name = "csi_volumes";
  static constexpr std::string_view topic = "CSIVolume";

  static std::string key(Reader volume) {
    return join_key(view(volume.getNamespace()), view(volume.getId()));
  }

  static std::string plugin_of(Reader volume) { return copy(volume.getPluginId()); }

  static std::string key_by_plugin(Reader volume) {
    return join_key(view(volume.getPluginId()), key(volume));
  }

  static std::optional<std::string> if_claimed(Reader volume) {
    if (volume.getClaims().size() == 0) return std::nullopt;
    return key(volume);
  }

  static constexpr std::tuple indexes{
      RowIndex{&Rows::csi_volumes_by_plugin, &key_by_plugin},
      RowIndex{&Rows::csi_volumes_claimed, &if_claimed},
  };
  static constexpr std::tuple watches{RowWatch{Table::csi_plugins, &plugin_of}};

  static std::vector<std::string_view> filter_keys(Reader volume) {
    return {view(volume.getPluginId())};
  }

  /// As events show it: without the flags of its mount options, which may have secrets in them.
  static Object<Type> shown(const Object<Type>& volume);

  /// Counts it for the root key that sealed its secrets.
  static void derive(Tables& tables,
                     const Object<Type>& before,
                     const Object<Type>& after,
                     const Derivation& how);
};

}  // namespace kind

/// What stands in an answer in place of what is kept from it.
inline constexpr std::string_view redacted_flag = "[REDACTED]";

/// Lists a node for the plugins that it has, `after` in place of `before`.
void derive_plugins_of_node(Tables& tables,
                            const Object<schema::Node>& before,
                            const Object<schema::Node>& after,
                            const Derivation& how);

/// Lists a job for the plugins that its tasks are.
void derive_plugins_of_job(Tables& tables,
                           const Object<schema::Job>& before,
                           const Object<schema::Job>& after,
                           const Derivation& how);

}  // namespace nomad::state
