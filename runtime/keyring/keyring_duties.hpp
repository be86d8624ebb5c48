// What the leader has to do for root keys: which is made, published, activated, retired or removed,
// and what is sealed anew. A function of the state and of a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/object/object.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::keyring {

struct KeyringThresholds {
  std::int64_t rotation = 720LL * 3600 * 1'000'000'000;  ///< Nanoseconds until a key is replaced.
  std::int64_t retention = 3600LL * 1'000'000'000;       ///< Until an unused key is removed.
  std::int64_t prepublish
      = 3600LL * 1'000'000'000;       ///< For how long a key is known before it signs.
  std::size_t rekeyed_at_once = 100;  ///< Of each kind and key: one that is lost holds up no other.
};

/// What the leader has to do for the keyring. Everything in it may be done at once; afterwards the
/// question is asked again.
struct KeyringDuties {
  bool make_key = false;                        ///< There is no active one, or it is too old.
  bool publish_key = false;                     ///< It is soon too old: the next one is made known.
  std::vector<Object<schema::Variable>> rekey;  ///< To be sealed anew with the active key.
  std::vector<Object<schema::AclToken>> rekey_tokens;        ///< Their secrets, likewise.
  std::vector<Object<schema::AclAuthMethod>> rekey_methods;  ///< Their client secrets.
  std::vector<Object<schema::CsiVolume>> rekey_volumes;      ///< Their secrets.
  std::vector<Object<schema::RootKey>> activate;  ///< Published ones whose time has come.
  std::vector<Object<schema::RootKey>> retire;    ///< Rekeying ones that are done.
  std::vector<std::string> remove;                ///< Unused old keys.
};

KeyringDuties keyring_duties(const state::Snapshot& snapshot,
                             const KeyringThresholds& thresholds,
                             std::int64_t now);

}  // namespace nomad::keyring
