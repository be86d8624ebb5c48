// KeyringRotator: keeps the cluster's keyring whole. On every server it sees to it that the state
// knows this server's public key, and wraps the keys that this server can open for servers that
// came later: the leader may be one of those. On the leader it makes the first root key and
// replaces an old one, seals variables anew after a full rotation, and removes keys that nothing
// uses. A key that this server cannot open hinders none of the others.
//
// Owns:   its timer and the writes under way.
// Takes:  Lead. Commands go to the link that it was given, which knows the leader.
// Parent: server, restart.
// Ends:   by the parent's exit message.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "actors/core/actor.hpp"
#include "actors/server/leadership.hpp"
#include "actors/server/sealed_service.hpp"
#include "runtime/keyring/keyring_duties.hpp"
#include "runtime/security/keyring.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

struct KeyringRotatorOptions {
  std::chrono::nanoseconds interval = std::chrono::seconds{1};
  keyring::KeyringThresholds thresholds;
  std::uint64_t random_seed = 0;  ///< For the ids of keys.
  /// What there is to do.
  std::function<keyring::KeyringDuties(
      const state::Snapshot&, const keyring::KeyringThresholds&, std::int64_t now)>
      decide = keyring::keyring_duties;
};

LeaderDuty spawn_keyring_rotator(const actor::Owner& owner,
                                 std::shared_ptr<state::Store> store,
                                 std::shared_ptr<security::Keyring> keyring,
                                 SealedLink servers,
                                 KeyringRotatorOptions options);

}  // namespace nomad::server
