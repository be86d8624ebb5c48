// What a token of access control is tied to, and what its caller may see of others' objects: what
// is his own, unless he manages. May depend on: runtime/base, access, object, state. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "runtime/access/authorize.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/acl.capnp.h"

namespace nomad::cluster {

/// The policy of whoever shows no token. Those who show one do not get it.
inline constexpr std::string_view anonymous_policy = "anonymous";

using Names = std::set<std::string, std::less<>>;

/// Of policies, roles, methods of signing in: 1 to 128 letters, digits and dashes.
bool is_acl_name(std::string_view name);

/// The policies that a token names, and those of its roles. There may be none of a name.
Names policies_of_token(const state::Snapshot& state, schema::AclToken::Reader token);

/// The token whose secret has this hash; empty if there is none.
Object<schema::AclToken> token_of_secret(const state::Snapshot& state,
                                         std::string_view secret_hash);

/// The role of that name; empty if there is none.
Object<schema::AclRole> role_of_name(const state::Snapshot& state, std::string_view name);

/// What a caller may read of access control. Made of his rights and his token's row, so that it is
/// as new as the state that it was made of.
class OwnAcl {
public:
  OwnAcl(const state::Snapshot& state, const access::Principal& who);

  bool manages() const { return manages_; }

  /// Lists show the policies that he has; anyone may read the one for who shows no token.
  bool lists_policy(std::string_view name) const { return manages_ || policies_.contains(name); }

  bool has_policy(std::string_view name) const {
    return name == anonymous_policy || lists_policy(name);
  }

  bool has_role(std::string_view id) const { return manages_ || roles_.contains(id); }

  bool has_token(std::string_view accessor) const {
    return manages_ || (!accessor.empty() && accessor == accessor_);
  }

private:
  bool manages_;
  std::string accessor_;
  Names policies_;
  Names roles_;
};

}  // namespace nomad::cluster
