// Policies, roles, methods of signing in and binding rules as commands for the log. The rules'
// texts are Nomad's. Names have 1 to 128 letters, digits and dashes, descriptions at most 256
// bytes. May depend on: runtime/base, access, jobspec, object, query, state. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/cluster/acl/token_commands.hpp"

namespace nomad::cluster {

/// What the API shows in place of a client secret, which it never does; as one that is wanted it
/// stands for that which is stored.
inline constexpr std::string_view redacted = "redacted";

Result<AclDecision> decide_put_policy(const access::Asking& asking,
                                      schema::AclPolicy::Reader policy);

/// One that is not there needs no command.
Result<AclDecision> decide_delete_policy(const state::Snapshot& state,
                                         const access::Asking& asking,
                                         std::string_view name);

/// Makes a role, whose id is `fresh_id`, or changes the one of the id that `wanted` has.
Result<AclDecision> decide_put_role(const state::Snapshot& state,
                                    const access::Asking& asking,
                                    schema::AclRole::Reader wanted,
                                    std::string_view fresh_id);

/// Puts a method. What `wanted` leaves out comes from the stored one. `seal` has the root key and
/// the sealed client secret, empty if `wanted` brings none.
Result<AclDecision> decide_put_auth_method(const state::Snapshot& state,
                                           const access::Asking& asking,
                                           schema::AclAuthMethod::Reader wanted,
                                           schema::AclAuthMethod::Reader seal,
                                           const TokenBounds& bounds,
                                           std::int64_t now);

/// Makes a rule, whose id is `fresh_id`, or changes the one of the id that `wanted` has.
Result<AclDecision> decide_put_binding_rule(const state::Snapshot& state,
                                            const access::Asking& asking,
                                            schema::AclBindingRule::Reader wanted,
                                            std::string_view fresh_id,
                                            std::int64_t now);

}  // namespace nomad::cluster
