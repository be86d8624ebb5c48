#include "runtime/cluster/acl/acl_names.hpp"

#include <algorithm>

#include "runtime/base/text.hpp"

namespace nomad::cluster {

bool is_acl_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return is_alphanumeric(c) || c == '-';
  });
}

Names policies_of_token(const state::Snapshot& state, schema::AclToken::Reader token) {
  Names names;
  for (const auto name : token.getPolicies())
    names.insert(copy(name));
  for (const auto link : token.getRoles()) {
    const auto role = state.row<state::kind::AclRoles>(view(link.getId()));
    if (!role) continue;
    for (const auto policy : role->getPolicies())
      names.insert(copy(policy.getName()));
  }
  return names;
}

Object<schema::AclToken> token_of_secret(const state::Snapshot& state,
                                         std::string_view secret_hash) {
  const auto unguarded = state.unguarded();
  using state::kind::AclTokens;
  const auto* found
      = unguarded.tables().acl_tokens_by_secret.find(AclTokens::key_of_hash(secret_hash));
  if (found == nullptr || state::kind::bytes_of((*found)->getSecretHash()) != secret_hash)
    return {};
  return state.row<AclTokens>(view((*found)->getAccessorId()));
}

Object<schema::AclRole> role_of_name(const state::Snapshot& state, std::string_view name) {
  const auto unguarded = state.unguarded();
  const auto* found = unguarded.tables().acl_roles_by_name.find(name);
  return found != nullptr ? state.row<state::kind::AclRoles>(view((*found)->getId()))
                          : Object<schema::AclRole>{};
}

OwnAcl::OwnAcl(const state::Snapshot& state, const access::Principal& who)
    : manages_{access::authorize(who, access::Capability::management, {}).has_value()} {
  if (manages_ || !who.grant()) return;
  accessor_ = who.grant()->accessor;
  if (accessor_.empty()) policies_.emplace(anonymous_policy);
  const auto token = state.row<state::kind::AclTokens>(accessor_);
  if (!token) return;
  policies_ = policies_of_token(state, *token);
  for (const auto link : token->getRoles())
    roles_.insert(copy(link.getId()));
}

}  // namespace nomad::cluster
