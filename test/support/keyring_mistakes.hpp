// What keyring rotators of tests decide by, in place of keyring::keyring_duties: the same, or with
// the mistake that tests must find.
#pragma once

#include <algorithm>

#include "runtime/keyring/keyring_duties.hpp"
#include "test/mistakes/mistake.hpp"

namespace nomad::test {

inline keyring::KeyringDuties next_keyring_duties(const state::Snapshot& snapshot,
                                                  const keyring::KeyringThresholds& thresholds,
                                                  std::int64_t now) {
  auto duties = keyring::keyring_duties(snapshot, thresholds, now);
  if (mistake != Mistake::collect_signing_keys) return duties;
  for (const auto& entry : snapshot.rows<state::kind::RootKeys>().all())
    if (entry.value()->getState() == schema::RootKeyState::INACTIVE
        && !snapshot.root_key_in_use(entry.key())
        && now - entry.value()->getCreateTime() > thresholds.retention
        && std::ranges::find(duties.remove, entry.key()) == duties.remove.end())
      duties.remove.emplace_back(entry.key());
  return duties;
}

}  // namespace nomad::test
