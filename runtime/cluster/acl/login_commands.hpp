// Signing in as a command for the log: what a method's rules make of the claims that its provider
// has vouched for is a token.
//
// Who signs in is nobody yet: the token is made as the cluster's own work, and what that is decided
// by (the method, its rules, the roles and policies that they name) must be as it was when the
// command is applied. A method that has changed since the claims were verified by it is refused.
// May depend on: runtime/base, access, object, query, state. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/access/login/claim_mapping.hpp"
#include "runtime/access/login/token_check.hpp"
#include "runtime/cluster/acl/token_commands.hpp"

namespace nomad::cluster {

/// Claims that were verified, and by which method as it was.
struct VerifiedLogin {
  std::string method;
  std::uint64_t method_index = 0;  ///< Its modify index.
  access::Claims claims;
};

/// What a method says of the tokens that it takes. Where it binds no issuer, they are of the one
/// whose discovery document has the keys; `discovered` is empty where there is no such document.
access::TokenRules token_rules(schema::AclAuthMethodConfig::Reader config,
                               std::string_view discovered = {});

Result<AclDecision> decide_login(const state::Snapshot& state,
                                 const VerifiedLogin& login,
                                 const Object<schema::AclToken>& fresh,
                                 const TokenBounds& bounds);

}  // namespace nomad::cluster
