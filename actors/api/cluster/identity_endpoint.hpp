// What /.well-known/jwks.json and /.well-known/openid-configuration are made of.
#pragma once

#include <memory>
#include <string>

#include "runtime/identity/rsa_key.hpp"
#include "runtime/security/keyring.hpp"

namespace nomad::api {

/// Of the keys by which identities of tasks are verified.
struct IdentityParts {
  std::shared_ptr<security::Keyring> keyring;  ///< Null: this agent is no server.
  identity::RsaKeyOf rsa_keys;                 ///< Empty: made of the keyring.
  std::string issuer;                          ///< "" without one: nothing is discovered.
};

}  // namespace nomad::api
