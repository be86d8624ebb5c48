// What an agent's `keyring` blocks say: which keys outside of the cluster wrap its root keys.
#pragma once

#include "runtime/config/agent_config.hpp"
#include "runtime/security/wrapping_key.hpp"

namespace nomad::agent {

/// Opens them. "aead" is the servers' own way, which needs no key. Errors name the block: a
/// provider that this release does not know, two active ones, a key that cannot be read.
Result<security::WrappingKeys> wrapping_keys(
    const std::map<std::string, config::KeyringBlock>& blocks,
    const security::FillRandom& random = security::system_random());

}  // namespace nomad::agent
