// Hooks of CSI: plugins that are tasks, and volumes that groups ask for.
//
// csi_plugin_hook, an actor, of tasks with a csi_plugin block:
// Owns:   nothing that is not on disk or with the VolumeManager.
// Takes:  what the role Hook lists. Prestart makes the directories of plugin and socket and shows
// them
//         to the task; poststart has the VolumeManager look after the plugin; exited and stop tell
//         it of the end, and stop removes the socket's directory.
// Parent: task_runner, report: its phase fails; the next phase finds a new one.
// Ends:   by the parent's exit message.
//
// csi_hook, an actor, of groups with CSI volumes:
// Owns:   nothing: the VolumeManager knows what is mounted.
// Takes:  what the role Hook lists. Prerun waits until all volumes are mounted, and leaves where as
// the
//         resource `csi_mounts`; postrun and destroy give them back.
// Parent: alloc_runner, report: its phase fails.
// Ends:   by the parent's exit message.
//
// csi_volumes_hook, an actor, of tasks that mount one: shows it to the task.
// Owns:   nothing.
// Takes:  what the role Hook lists.
// Parent: task_runner, report: its phase fails.
// Ends:   by the parent's exit message.
#pragma once

#include <string>
#include <string_view>

#include "actors/client/hooks/hook.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "actors/client/volumes/volume_manager.hpp"

namespace nomad::client {

/// The resource by which tasks' hooks learn where volumes are: name and path of each, with a zero
/// byte between all of them.
inline constexpr std::string_view csi_mounts_resource = "csi_mounts";

struct CsiHookParts {
  VolumeManager volumes;
  std::string root;  ///< As VolumeManagerOptions has it.
  BlockingPool steps;
};

HookEntry csi_plugin_hook(CsiHookParts parts);
HookEntry csi_hook(CsiHookParts parts);
HookEntry csi_volumes_hook();

}  // namespace nomad::client
