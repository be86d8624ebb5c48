// What a node's question for a CSI volume comes to, judged on a snapshot: whether the allocation
// has asked for that volume at all, and whether its plugin can give it now. Whether the claim is
// free the log judges. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/node_door.capnp.h"

namespace nomad::cluster {

/// A claim that the log is to judge.
struct WantedClaim {
  std::string ns;
  std::string volume_id;
  Object<schema::CsiClaim> claim;
  bool attaches = false;  ///< A controller has to attach it then.
};

/// The claim that `node_id` asks for. Errors: `not_found`: no such allocation or volume;
/// `permission_denied`: the allocation is another node's, or its job does not ask for that;
/// `unavailable`: its plugin cannot give it now, and may later.
Result<WantedClaim> judge_claim_question(const state::Snapshot& snapshot,
                                         std::string_view node_id,
                                         schema::door::VolumeClaim::Reader asked);

/// Whether the allocation has a claim that it has not begun to give back.
bool has_claim(schema::CsiVolume::Reader volume, std::string_view alloc_id);

/// The claim of an allocation, if that is the node's.
std::optional<schema::CsiClaim::Reader> claim_of_node(schema::CsiVolume::Reader volume,
                                                      std::string_view alloc_id,
                                                      std::string_view node_id);

/// How the plugin calls the node that a claim is of; "" if nobody knows.
std::string external_node_id(const state::Snapshot& snapshot,
                             schema::CsiVolume::Reader volume,
                             schema::CsiClaim::Reader claim);

/// The nodes with a healthy controller of the plugin, by their ids.
std::vector<std::string> healthy_controllers(const state::Snapshot& snapshot,
                                             std::string_view plugin);

}  // namespace nomad::cluster
