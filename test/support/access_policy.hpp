// Rights as ACLs would give them: namespace "a" for some tokens, everything for the rest.
#pragma once

#include <memory>
#include <string>

#include "runtime/access/authorize.hpp"
#include "test/support/anybody.hpp"

namespace nomad::test {

// Tokens. Whoever has another one, or none, may do everything.
inline const std::string a_only = "a-only";  ///< Namespace "a", and reading nodes and agents.
inline const std::string a_only_writes = "a-only-writes";  ///< The same, but no variable.
inline const std::string nothing = "nothing";
inline const std::string no_token = "no-token";  ///< There is none of that secret.

inline access::RightsRef rights_in_a(bool reads_variables) {
  return access::Rights::by(
      [reads_variables](access::Capability needed, const access::Target& target) {
        using access::Capability;
        if (needed == Capability::variables_read && !reads_variables) return false;
        if (access::is_namespaced(needed)) return target.ns == "a";
        return needed == Capability::node_read || needed == Capability::node_pool_use
               || needed == Capability::node_pool_read || needed == Capability::agent_read;
      });
}

inline Result<access::RightsRef> rights_by_token(std::string_view token) {
  if (token == no_token) return access::permission_denied();
  if (token == nothing) return access::Rights::nothing();
  if (token == a_only || token == a_only_writes) return rights_in_a(token == a_only);
  return access::Rights::everything();
}

inline std::shared_ptr<access::Authenticator> a_only_rights() {
  return giving(rights_by_token);
}

/// Who comes with `token`.
inline access::Asking asking_with(const std::string& token, access::Capability needed) {
  return {who_shows(token, *a_only_rights()), needed};
}

}  // namespace nomad::test
