// Watcher: notices that the Raft node has ended by an error, after which the server can promise
// nothing, and says so once.
//
// Owns:   nothing but the monitor.
// Takes:  no messages.
// Parent: the server's wiring.
// Ends:   by an exit message, or after it has spoken.
#pragma once

#include <functional>

#include "actors/core/actor.hpp"
#include "actors/raft/raft_node.hpp"

namespace nomad::agent {

/// Nobody sends this; a typed actor needs an interface.
struct Nothing {
  using is_message = void;
};

using Watcher = actor::Interface<void(Nothing)>;

Watcher spawn_watcher(actor::System& system,
                      const raft::RaftNode& node,
                      std::function<void(const Error&)> on_fatal);

}  // namespace nomad::agent
