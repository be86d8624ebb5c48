// IdentityEndpoint: signs identities of tasks and services for the nodes that run them.
//
// Owns:   the questions that are being answered: a part of one in each of its turns; a thread of
// its
//         own, for a signature by RS256 takes 1 ms, and the first one of a root key up to 0.5 s;
//         the signatures by RS256 that stay the same.
// Takes:  the door's signIdentities.
// Parent: server, restart. Nodes ask again.
// Ends:   by the parent's exit message.
#pragma once

#include <memory>
#include <string>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/roles/node_door.hpp"
#include "runtime/identity/issue.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

/// Of one question.
inline constexpr std::size_t most_identities = 10'000;

/// With a lease, nodes are answered only while it holds. `issuer`: who third parties know the
/// servers as; "" for nobody. Without `detached`, in deterministic tests, it has no thread.
NodeDoor spawn_identity_endpoint(const actor::Owner& owner,
                                 std::shared_ptr<state::Store> store,
                                 identity::IssuingKeys keys,
                                 std::shared_ptr<const raft::LeaderLease> lease,
                                 std::string issuer,
                                 bool detached = true);

}  // namespace nomad::server
