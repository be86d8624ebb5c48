#include "runtime/keyring/keyring_duties.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/cluster/variables/root_key_uses.hpp"
#include "runtime/object/identity_ttl.hpp"

namespace nomad::keyring {
namespace {

/// Of a kind's rows that this root key has sealed at most `most`, behind those of other keys.
template <class Kind>
void choose_sealed(const state::Snapshot& snapshot,
                   std::string_view key,
                   std::size_t most,
                   std::vector<state::ObjectOf<Kind>>& chosen) {
  const auto full = chosen.size() + most;
  for (const auto& entry : snapshot.rows<Kind>().all()) {
    if (chosen.size() >= full) return;
    if (view(entry.value()->getKeyId()) == key) chosen.push_back(entry.value());
  }
}

/// Whether anything may still be verified by an old key.
bool verifies_something(const state::Snapshot& snapshot,
                        const Object<schema::RootKey>& key,
                        std::int64_t now) {
  if (snapshot.signs_identities(key->getCreateIndex()) || snapshot.signs_identities(0)
      || snapshot.has_identities_of_lost_keys())
    return true;
  return now - cluster::signed_until(snapshot, key) < longest_identity_ttl;
}

bool has_next_key(const state::Snapshot& snapshot) {
  for (const auto& entry : snapshot.rows<state::kind::RootKeys>().all())
    if (entry.value()->getState() == schema::RootKeyState::PREPUBLISHED) return true;
  return false;
}

}  // namespace

KeyringDuties keyring_duties(const state::Snapshot& snapshot,
                             const KeyringThresholds& thresholds,
                             std::int64_t now) {
  KeyringDuties duties;
  const auto active = snapshot.active_root_key();
  const auto age = active ? now - std::max(active->getCreateTime(), active->getPublishTime()) : 0;
  const bool is_next_known = has_next_key(snapshot);
  duties.make_key = !active || (age > thresholds.rotation && !is_next_known);
  duties.publish_key = !duties.make_key && !is_next_known
                       && thresholds.prepublish < thresholds.rotation
                       && age > thresholds.rotation - thresholds.prepublish;
  for (const auto& entry : snapshot.rows<state::kind::RootKeys>().all()) {
    const auto& key = entry.value();
    const bool is_used = snapshot.root_key_in_use(entry.key());
    switch (key->getState()) {
      case schema::RootKeyState::ACTIVE:
        break;
      case schema::RootKeyState::PREPUBLISHED:
        if (now >= key->getPublishTime()) duties.activate.push_back(key);
        break;
      case schema::RootKeyState::INACTIVE:
        if (!is_used && now - key->getCreateTime() > thresholds.retention
            && !verifies_something(snapshot, key, now))
          duties.remove.emplace_back(entry.key());
        break;
      case schema::RootKeyState::REKEYING: {
        if (!is_used) duties.retire.push_back(key);
        const std::string prefix = state::join_key(entry.key(), "");
        const auto full = duties.rekey.size() + thresholds.rekeyed_at_once;
        for (const auto& use : snapshot.variables_by_key_map().prefix(prefix)) {
          if (duties.rekey.size() >= full) break;
          if (const auto* found = snapshot.variables_map().find(use.key().substr(prefix.size())))
            duties.rekey.push_back(*found);
        }
        if (!snapshot.tables().acl_sealed_by_key.contains(entry.key())) break;
        choose_sealed<state::kind::AclTokens>(snapshot, entry.key(), thresholds.rekeyed_at_once,
                                              duties.rekey_tokens);
        choose_sealed<state::kind::AclAuthMethods>(
            snapshot, entry.key(), thresholds.rekeyed_at_once, duties.rekey_methods);
        choose_sealed<state::kind::CsiVolumes>(snapshot, entry.key(), thresholds.rekeyed_at_once,
                                               duties.rekey_volumes);
        break;
      }
    }
  }
  return duties;
}

}  // namespace nomad::keyring
