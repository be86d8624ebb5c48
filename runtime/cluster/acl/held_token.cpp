#include "runtime/cluster/acl/held_token.hpp"

#include "runtime/object/object.hpp"

namespace nomad::cluster {

HeldToken held_token(const state::Snapshot& state, schema::AclToken::Reader token) {
  HeldToken held;
  held.name = copy(token.getName());
  held.type = copy(token.getType());
  held.global = token.getGlobal();
  held.expires_at = token.getExpirationTime();
  held.created_at = token.getCreateTime();
  const auto hold = [&](std::string_view name, const std::string& role) {
    const auto policy = state.row<state::kind::AclPolicies>(name);
    if (policy) held.policies.push_back({std::string{name}, policy->getModifyIndex(), role});
  };
  for (const auto name : token.getPolicies())
    hold(view(name), "");
  for (const auto link : token.getRoles()) {
    const auto role = state.row<state::kind::AclRoles>(view(link.getId()));
    if (!role) continue;
    held.roles.push_back({copy(role->getId()), copy(role->getName())});
    for (const auto policy : role->getPolicies())
      hold(view(policy.getName()), held.roles.back().name);
  }
  return held;
}

std::optional<HeldToken> held_token(const state::Snapshot& state, std::string_view accessor) {
  const auto row = state.row<state::kind::AclTokens>(accessor);
  if (!row) return {};
  return held_token(state, *row);
}

}  // namespace nomad::cluster
