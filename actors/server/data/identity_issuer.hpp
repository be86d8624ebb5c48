// IdentityIssuer: signs parts of what nodes ask the identity_endpoint for, and makes the RS256 keys
// of root keys before anybody wants them.
//
// Owns:   a thread, for a signature by Ed25519 takes 25 us, one by RS256 0.4 ms, and a key up to
//         0.5 s; the signatures by RS256 that stay the same.
// Takes:  Sign and MakeKey, both answered.
// Parent: identity_endpoint, restart: who waits is told, and nodes ask again.
// Ends:   by the parent's exit message.
#pragma once

#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/roles/node_door.hpp"
#include "runtime/identity/issue.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::server {

namespace identity_issuer {

/// A part of a question of `node`.
struct Sign {
  using is_message = void;
  state::Snapshot state;
  door::Ask question;  ///< signIdentities
  std::string node;
  std::vector<unsigned> positions;  ///< Which of its identities.
};

/// In the order of the part's positions. Errors as `identity::issue`.
struct Signed {
  using is_message = void;
  std::vector<Result<identity::Issued>> made;
};

struct MakeKey {
  using is_message = void;
  Object<schema::RootKey> row;
};

/// Or it can't be made here: the log says why.
struct KeyMade {
  using is_message = void;
};

}  // namespace identity_issuer

using IdentityIssuer = actor::Interface<identity_issuer::Signed(identity_issuer::Sign),
                                        identity_issuer::KeyMade(identity_issuer::MakeKey)>;

/// `issuer`: who third parties know the servers as; "" for nobody. `detached`: with its thread.
IdentityIssuer spawn_identity_issuer(const actor::Owner& owner,
                                     const identity::IssuingKeys& keys,
                                     const std::string& issuer,
                                     bool detached);

}  // namespace nomad::server
