// IdentitySigner: has the identities of this node's tasks and services signed by the servers. What
// several tasks want at a time, as after a start of the agent, is one question.
//
// Owns:   the orders that wait for a question, and those of the open one.
// Takes:  Sign, answered with an identity, or why it is refused, for each one in the same order;
//         with the question's error when the servers can't say: who wants them asks again. More
//         than `most_identity_orders` at a time are `overloaded`.
// Parent: client, restart. Who waits is told `unavailable`, and asks again.
// Ends:   by the parent's exit message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/roles/node_door.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/secret.hpp"

namespace nomad::client {

inline constexpr std::size_t most_identity_orders = 16 * 1024;

namespace identity_signer {

/// "" names the default identity.
struct Wanted {
  std::string workload{};  ///< The task's name, or the service's, as its block in the job has it.
  bool is_service = false;
  std::string name{};
};

/// Of an allocation that runs on this node, or is about to.
struct Sign {
  using is_message = void;
  std::string alloc_id;
  std::vector<Wanted> wanted;
};

struct Identity {
  SecretText token{};     ///< Empty: it is refused.
  Nanoseconds life{};     ///< By the servers' clock; 0: it lasts as long as its allocation.
  std::string refused{};  ///< Why.
};

struct Signed {
  using is_message = void;
  std::vector<Identity> identities;
};

}  // namespace identity_signer

using IdentitySigner = actor::Interface<identity_signer::Signed(identity_signer::Sign)>;

struct IdentitySignerOptions {
  std::string node_id;
  NodeDoor servers;
};

IdentitySigner spawn_identity_signer(const actor::Owner& owner, IdentitySignerOptions options);

}  // namespace nomad::client
