// A policy as ACLs would make one: namespace "a" for some, everything for the rest.
#pragma once

#include <memory>
#include <string>

#include "runtime/access/authorize.hpp"

namespace nomad::test {

// Tokens. Whoever has another one, or none, may do everything.
inline const std::string a_only = "a-only";  ///< Namespace "a", and reading nodes and agents.
inline const std::string a_only_writes = "a-only-writes";  ///< The same, but no variable.
inline const std::string nothing = "nothing";

inline Result<> judge_by_token(const access::Caller& caller,
                               access::Capability needed,
                               const access::Target& target) {
  using access::Capability;
  const auto token = caller.token ? caller.token->secret : "";
  const bool is_narrow = token == a_only || token == a_only_writes;
  const bool reads = needed == Capability::node_read || needed == Capability::node_pool_read
                     || needed == Capability::agent_read;
  const bool is_own = is_narrow && (access::is_namespaced(needed) ? target.ns == "a" : reads);
  const bool is_blind = token == a_only_writes && needed == Capability::variables_read;
  if ((!is_narrow && token != nothing) || (is_own && !is_blind)) return {};
  return Error{Errc::permission_denied, "Permission denied"};
}

inline std::shared_ptr<const access::Policy> a_only_policy() {
  return std::make_shared<const access::Policy>(judge_by_token);
}

/// Who comes with `token`, judged by that policy.
inline access::Asking asking_with(const std::string& token, access::Capability needed) {
  access::Caller caller;
  caller.token = access::TokenIdentity{token};
  return {{std::move(caller), a_only_policy()}, needed};
}

}  // namespace nomad::test
