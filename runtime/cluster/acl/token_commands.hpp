// Tokens of access control as commands for the log: the first one, those that managers make and
// change, and one-time tokens. The rules' texts are Nomad's.
//
// A new token's accessor and secret are drawn by the server that was asked, which has sealed the
// secret: `fresh` holds its hash and its seal, and no decision sees the secret itself. What a
// decision requires is judged once more where its command is applied (state/kinds/apply_acl.cpp).
// May depend on: runtime/base, access, jobspec, object, state. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/cluster/acl/token_bounds.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "schema/acl.capnp.h"

namespace nomad::cluster {

/// A command and which object it is about; no command: it is as wanted already.
struct AclDecision {
  access::Allowed allowed;
  Object<schema::Command> command = {};
  std::string id = {};
};

inline constexpr Nanoseconds one_time_token_life = std::chrono::minutes{10};

/// The first management token, or, with the index of the last one, which only who can write to the
/// leader's disk can give, another one.
Result<AclDecision> decide_bootstrap(const state::Snapshot& state,
                                     const access::Asking& asking,
                                     const Object<schema::AclToken>& fresh,
                                     std::uint64_t reset_index);

/// Makes a token, or changes the one of the accessor that `wanted` names: then what it says of
/// secret, locality and times must be as stored or left out.
Result<AclDecision> decide_put_token(const state::Snapshot& state,
                                     const access::Asking& asking,
                                     const Object<schema::AclToken>& wanted,
                                     const Object<schema::AclToken>& fresh,
                                     const TokenBounds& bounds);

Result<AclDecision> decide_delete_token(const state::Snapshot& state,
                                        const access::Asking& asking,
                                        std::string_view accessor);

/// A one-time token for the token with that secret, which is the right to have one.
Result<AclDecision> decide_one_time_token(const state::Snapshot& state,
                                          const access::Asking& asking,
                                          std::string_view secret_hash,
                                          std::string_view one_time_hash,
                                          std::int64_t now);

/// Gives a one-time token up; `id` is the accessor of its token.
Result<AclDecision> decide_exchange(const state::Snapshot& state,
                                    const access::Asking& asking,
                                    std::string_view one_time_hash,
                                    std::int64_t now);

/// Whether it has ended by itself at `now` (Unix nanoseconds).
inline bool has_expired(schema::AclToken::Reader token, std::int64_t now) {
  return token.getExpirationTime() != 0 && token.getExpirationTime() < now;
}

/// A text as the bytes of a field.
inline capnp::Data::Reader data_of(std::string_view bytes) {
  return {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
}

}  // namespace nomad::cluster
