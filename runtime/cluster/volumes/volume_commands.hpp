// Decisions about CSI volumes: registering, changing and removing one. What a plugin has to do for
// it is asked before (actors/api/cluster). May depend on: runtime/base, access, object, state.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/cluster/job_commands.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/csi.capnp.h"

namespace nomad::cluster {

/// What is wrong with a volume that somebody wants to register; empty: nothing. Nomad's words.
std::vector<std::string> volume_mistakes(schema::CsiVolume::Reader wanted);

/// All of them in one sentence, as Nomad says it.
std::string mistakes_text(const std::vector<std::string>& mistakes);

/// `stored` with what `wanted` changes of it; an update takes over secrets, context, capabilities,
/// mount options and capacities, and leaves what it does not name. `invalid_argument`: it would
/// change what stays, or what is in use ("unable to update volume: …").
Result<Object<schema::CsiVolume>> merge_volume(const Object<schema::CsiVolume>& stored,
                                               const Object<schema::CsiVolume>& wanted);

/// Puts a volume, of which nothing but keyId and sealed tells of secrets; without these, stored
/// ones stay. Its plugin must be one that somebody names. Needs csi-write-volume in its namespace,
/// and to read plugins.
Result<Decision> decide_register_volume(const state::Snapshot& state,
                                        const access::Asking& asking,
                                        const Object<schema::CsiVolume>& wanted);

/// Forgets a volume, whatever its plugin has of it. `conflict`: it is in use; by force it is gone
/// if all its allocations have ended.
Result<Decision> decide_deregister_volume(const access::Asking& asking,
                                          std::string_view ns,
                                          std::string_view id,
                                          bool force);

/// Begins to give back what allocations of a node that have ended had of the volume; the watcher of
/// volumes goes on with it. `not_found`: there is no such volume; `conflict`: allocations that live
/// there use it, and no others did.
Result<Decision> decide_detach_volume(const state::Snapshot& state,
                                      const access::Asking& asking,
                                      std::string_view ns,
                                      std::string_view id,
                                      std::string_view node_id);

/// The command that says of an allocation's claim how far it is.
Object<schema::Command> claim_command(std::string_view ns,
                                      std::string_view volume_id,
                                      schema::CsiClaim::Reader claim);

}  // namespace nomad::cluster
