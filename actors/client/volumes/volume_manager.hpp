// VolumeManager: the CSI plugins and volumes of a node. It asks plugins how they are, mounts
// volumes for allocations and takes them down, and answers what servers ask of plugins. What it
// does when decide workload::PluginMachine and workload::VolumeMachine.
//
// Owns:   the two machines; what servers have said of the volumes that are being mounted.
// Takes:  Started, Exited, Stopped of plugins' tasks; Acquire, Withdraw and Drop of allocations;
//         what the role AskedNode takes about CSI.
// Asks:   the servers (claimVolume, unpublishVolume), ClientDb, BlockingPool, plugins
//         (csi::PluginCalls).
// Parent: client, restart: it begins anew from what is written down. Who waits for it is told
//         `unavailable`.
// Ends:   by the parent's exit message. What is mounted stays.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/client/tools/blocking_pool.hpp"
#include "actors/client/tools/client_db.hpp"
#include "actors/client/tools/plugin_agent.hpp"
#include "actors/client/volumes/csi_objects.hpp"
#include "actors/client/volumes/mount_points.hpp"
#include "actors/roles/node_door.hpp"
#include "actors/roles/node_questions.hpp"
#include "runtime/workload/volumes/plugin_machine.hpp"
#include "runtime/workload/volumes/volume_machine.hpp"

namespace nomad::client {

namespace volume_manager {

struct Done {
  using is_message = void;
};

/// The task of a plugin runs; `agent` hears of its health.
struct Started {
  using is_message = void;
  workload::PluginTask plugin;
  PluginAgent agent;
};

/// Its process has ended, and may come again.
struct Exited {
  using is_message = void;
  std::string key;  ///< PluginTask::key.
};

/// It does not come again. Answered when it is not registered any more.
struct Stopped {
  using is_message = void;
  std::string key;
};

/// A volume that a group asks for.
struct Need {
  std::string alias;  ///< The name of the group's `volume` block.
  workload::MountSpec spec;
  VolumeMountOptions options{};
};

/// Where it is on the host.
struct Mounted {
  std::string alias;
  std::string path;
};

struct Acquired {
  using is_message = void;
  std::vector<Mounted> volumes;
};

/// Answered when all of them are mounted; one `Acquire` of an allocation is open.
struct Acquire {
  using is_message = void;
  std::string alloc;
  std::vector<Need> needs;
};

/// The open Acquire is not wanted any more: it is answered soon, as `cancelled`.
struct Withdraw {
  using is_message = void;
  std::string alloc;
};

/// The allocation is over. Answered when its volumes were tried to be taken down once; what is left
/// then goes on.
struct Drop {
  using is_message = void;
  std::string alloc;
};

/// Told to the parent: plugins stand otherwise.
struct Changed {
  using is_message = void;
  std::shared_ptr<const CsiStandings> standings;
};

/// Told to the parent: for the node's events.
struct Happened {
  using is_message = void;
  std::string message;
  std::map<std::string, std::string> details;
};

}  // namespace volume_manager

using VolumeManager = AskedNode::extend<void(volume_manager::Started),
                                        void(volume_manager::Exited),
                                        volume_manager::Done(volume_manager::Stopped),
                                        volume_manager::Acquired(volume_manager::Acquire),
                                        void(volume_manager::Withdraw),
                                        volume_manager::Done(volume_manager::Drop)>;

using VolumeManagerParent
    = actor::Interface<void(volume_manager::Changed), void(volume_manager::Happened)>;

/// What is done with mounts; both block. Tests, which need not be root, put in others.
struct MountTools {
  std::function<bool(const std::string&)> is_mounted = is_mount_point;
  std::function<Result<>(const std::string&)> clear = clear_mount_point;
};

struct VolumeManagerOptions {
  std::string node_id;
  std::string root;  ///< "<state_dir>/csi"
  NodeDoor servers;
  ClientDb db;
  BlockingPool steps;
  std::shared_ptr<csi::PluginCalls> calls;
  std::function<std::int64_t()> unix_now;  ///< Wall clock, in nanoseconds.
  VolumeManagerParent parent;
  MountTools mounts{};
};

VolumeManager spawn_volume_manager(const actor::Owner& owner, VolumeManagerOptions options);

/// "<root>/<node|controller|monolith>/<plugin id>".
std::string plugin_directory(const std::string& root,
                             const std::string& type,
                             const std::string& id);

}  // namespace nomad::client
