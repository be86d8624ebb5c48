// IdentitySigner: has the identities of this node's tasks and services signed by the servers. What
// several tasks want at a time, as after a start of the agent, is one question. It looks at the
// wall clock for all of them, each minute and when an answer comes.
//
// Owns:   the orders that wait for a question, and those of the open one; a timer.
// Takes:  Sign, answered with an identity, or why it is refused, for each one in the same order;
//         with the question's error when the servers can't say: who wants them asks again. More
//         than `most_identity_orders` at a time are `overloaded`. FollowClock, and tells
//         ClockMoved.
// Parent: client, restart. Who waits is told `unavailable`, and asks again. Who follows the clock
//         follows again when it asks.
// Ends:   by the parent's exit message.
#pragma once

#include <cstdint>
#include <functional>
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

/// The wall clock was set, by a second or more: it goes otherwise than the steady one.
struct ClockMoved {
  using is_message = void;
};

using ClockFollower = actor::Interface<void(ClockMoved)>;

/// Tell this one, as long as it is there. More than once is as once.
struct FollowClock {
  using is_message = void;
  actor::Weak<ClockFollower> who;
};

}  // namespace identity_signer

using IdentitySigner = actor::Interface<identity_signer::Signed(identity_signer::Sign),
                                        void(identity_signer::FollowClock)>;

struct IdentitySignerOptions {
  std::string node_id;
  NodeDoor servers;
  std::function<std::int64_t()> unix_now{};  ///< None: the clock is not looked at.
};

IdentitySigner spawn_identity_signer(const actor::Owner& owner, IdentitySignerOptions options);

}  // namespace nomad::client
