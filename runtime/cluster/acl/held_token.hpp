// What a token is, for whoever asks who he is by it. It decides nothing. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/state/snapshot.hpp"
#include "schema/acl.capnp.h"

namespace nomad::cluster {

/// A policy that somebody has.
struct HeldPolicy {
  std::string name;
  std::uint64_t modify_index = 0;
  std::string role = {};  ///< With which it comes; empty: it is the token's own.
};

struct HeldRole {
  std::string id;
  std::string name;
};

struct HeldToken {
  std::string name = {};
  std::string type = {};  ///< "client" or "management".
  bool global = false;
  std::int64_t expires_at = 0;  ///< Unix nanoseconds; 0: it does not end.
  std::int64_t created_at = 0;  ///< Unix nanoseconds.
  std::vector<HeldRole> roles = {};
  std::vector<HeldPolicy> policies = {};
};

/// As it stands in the state. Policies and roles that are gone are left out.
HeldToken held_token(const state::Snapshot& state, schema::AclToken::Reader token);

/// The same by the token's accessor; nothing: it is not in this server's state.
std::optional<HeldToken> held_token(const state::Snapshot& state, std::string_view accessor);

}  // namespace nomad::cluster
