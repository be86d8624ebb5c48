// DataEndpoint: tells client nodes what the templates of their tasks follow: services and
// variables, which it opens for them with the keyring.
//
// Owns:   the questions that are held, by what they ask: whatever is asked is watched and read
//         once, and judged and opened once for all tasks with the same rights that wait for it.
// Takes:  the door's watchData. A change is answered as soon as it is applied; of what takes many
//         rows, the changes of 50 ms together.
// Parent: server, restart. Nodes ask again.
// Ends:   by the parent's exit message.
#pragma once

#include <memory>

#include "actors/core/actor.hpp"
#include "actors/raft/proposer.hpp"
#include "actors/roles/node_door.hpp"
#include "runtime/security/keyring.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

/// Questions that a node may have open.
inline constexpr std::size_t most_node_questions = 10'000;

/// With a lease, nodes are answered only while it holds. `enforces`: what a task may not read its
/// node is not told; each answer is judged by the rights of then.
NodeDoor spawn_data_endpoint(const actor::Owner& owner,
                             std::shared_ptr<state::Store> store,
                             std::shared_ptr<security::Keyring> keyring,
                             std::shared_ptr<const raft::LeaderLease> lease,
                             bool enforces);

}  // namespace nomad::server
