// IdentityEndpoint: signs identities of tasks and services for the nodes that run them.
//
// Owns:   the questions that are being answered, one of a node at most; the identity_issuers that
//         sign, which have a part of the oldest question at a time.
// Takes:  the door's signIdentities. One that has waited for too long is refused, and so is one for
//         which there is no room: what is left is answered while the node still waits for it.
// Parent: server, restart. Nodes ask again.
// Ends:   by the parent's exit message.
#pragma once

#include <chrono>
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

/// A node waits 30 s for its answer, from before its question comes here until it is back. One that
/// has waited for as long here is `unavailable`.
inline constexpr std::chrono::seconds signing_patience{20};

/// Of all questions: about what is signed by RS256 in that time. Beyond it they are `overloaded`.
inline constexpr std::size_t most_waiting = 2 * most_identities;

struct IdentityEndpointOptions {
  std::string issuer{};  ///< Who third parties know the servers as; "" for nobody.
  std::size_t issuers = 2;
  bool detached = true;    ///< Not in deterministic tests: then issuers have no threads.
  bool makes_keys = true;  ///< As soon as their rows appear, not when they are first asked for.
};

/// With a lease, nodes are answered only while it holds.
NodeDoor spawn_identity_endpoint(const actor::Owner& owner,
                                 std::shared_ptr<state::Store> store,
                                 identity::IssuingKeys keys,
                                 std::shared_ptr<const raft::LeaderLease> lease,
                                 IdentityEndpointOptions options);

}  // namespace nomad::server
