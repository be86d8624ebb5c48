// VolumeEndpoint: gives CSI volumes to allocations and takes them back.
//
// Owns:   the controller calls that are out or wait: one at a time of each plugin, so that an
// attach
//         never overtakes a detach; what is to be given back next (cluster::VolumeReleases).
// Takes:  the door's questions about volumes; Lead; VolumesChanged. A claim is in the log before
// the
//         controller is asked to attach, and never given to two of whom one may have it: that the
//         log judges. Giving back is done by the server that leads alone.
// Parent: server, restart. Nodes ask again; what was being given back is begun anew.
// Ends:   by the parent's exit message.
#pragma once

#include <cstdint>
#include <memory>

#include "actors/core/actor.hpp"
#include "actors/core/latest.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/roles/node_door.hpp"
#include "actors/roles/node_questions.hpp"
#include "actors/server/leadership.hpp"
#include "runtime/security/keyring.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

/// A volume was claimed or given back, or allocations or nodes have ended: there may be something
/// to do.
struct VolumesChanged {
  using is_message = void;
};

using VolumeEndpoint = actor::Interface<door::Reply(door::Ask), void(Lead), void(VolumesChanged)>;

struct VolumeEndpointParts {
  std::shared_ptr<state::Store> store;
  raft::Proposer proposer;
  std::shared_ptr<const raft::LeaderLease> lease;  ///< None: always ours.
  std::shared_ptr<security::Keyring> keyring;      ///< Opens their secrets.
  actor::Latest<AskedNode> nodes;                  ///< Empty until the agent can ask nodes.
};

VolumeEndpoint spawn_volume_endpoint(const actor::Owner& owner, VolumeEndpointParts parts);

}  // namespace nomad::server
