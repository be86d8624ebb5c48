// What the kinds of access control derive and refuse.
#include "runtime/state/kinds/acl_kinds.hpp"

#include "runtime/state/kinds/count_seals.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state::kind {

std::optional<std::string> AclPolicies::key_by_job(Reader policy) {
  if (!policy.hasJobAcl()) return std::nullopt;
  const auto job = policy.getJobAcl();
  return join_key(view(job.getNamespace()), view(job.getJobId()), view(policy.getName()));
}

std::optional<std::string> AclTokens::key_by_expiry(Reader token) {
  if (token.getExpirationTime() == 0) return std::nullopt;
  return number_key(static_cast<std::uint64_t>(token.getExpirationTime()))
      .append(view(token.getAccessorId()));
}

void AclTokens::derive(Tables& tables,
                       const Object<Type>& before,
                       const Object<Type>& after,
                       const Derivation& how) {
  count_seals(tables, before, after);
  if (before) tables.acl_tokens_replaced = how.index;
}

void AclAuthMethods::derive(Tables& tables,
                            const Object<Type>& before,
                            const Object<Type>& after,
                            const Derivation&) {
  count_seals(tables, before, after);
}

std::optional<Error> AclOneTimeTokens::may_put(const Tables& tables,
                                               const Object<Type>& stored,
                                               Reader wanted) {
  const auto accessor = view(wanted.getAccessorId());
  if (stored || !tables.acl_tokens.contains(accessor))
    return Error{Errc::permission_denied, "Permission denied"};
  std::size_t others = 0;
  for ([[maybe_unused]] const auto& one :
       tables.acl_one_time_tokens_by_accessor.prefix(join_key(accessor, "")))
    if (++others >= most_of_a_token)
      return Error{Errc::overloaded, "too many one-time tokens of this token wait for their use"};
  return std::nullopt;
}

std::string AclTokens::rival(const Tables& tables, Reader token) {
  const auto* const found
      = tables.acl_tokens_by_secret.find(key_of_hash(bytes_of(token.getSecretHash())));
  const bool is_itself = found == nullptr || (*found)->getAccessorId() == token.getAccessorId();
  return is_itself ? std::string{} : key(**found);
}

std::optional<Error> AclRoles::may_put(const Tables& tables, const Object<Type>&, Reader wanted) {
  const auto* other = tables.acl_roles_by_name.find(view(wanted.getName()));
  if (other != nullptr && (*other)->getId() != wanted.getId())
    return Error{Errc::rejected,
                 "ACL role with name " + copy(wanted.getName()) + " already exists"};
  for (const auto link : wanted.getPolicies())
    if (!tables.acl_policies.contains(view(link.getName())))
      return Error{Errc::rejected, "ACL policy not found"};
  return std::nullopt;
}

std::string AclRoles::rival(const Tables& tables, Reader role) {
  const auto* const found = tables.acl_roles_by_name.find(view(role.getName()));
  return found == nullptr || (*found)->getId() == role.getId() ? std::string{} : key(**found);
}

std::optional<Error> AclAuthMethods::may_put(const Tables& tables,
                                             const Object<Type>& stored,
                                             Reader wanted) {
  const auto key = view(wanted.getKeyId());
  // One whose key was removed by force can still be changed, but for its secret.
  const bool has_new_secret = !stored || stored->getSealed() != wanted.getSealed();
  if (!key.empty() && has_new_secret && !tables.root_keys.contains(key))
    return Error{Errc::unavailable,
                 "root key \"" + std::string{key} + "\" has been removed; try again"};
  if (!wanted.getDefault()) return std::nullopt;
  for (const auto& entry : tables.acl_auth_methods.all())
    if (entry.value()->getDefault() && entry.value()->getName() != wanted.getName())
      return Error{Errc::rejected,
                   "default method already exists: " + copy(entry.value()->getName())};
  return std::nullopt;
}

std::optional<Error> AclBindingRules::may_put(const Tables& tables,
                                              const Object<Type>&,
                                              Reader wanted) {
  if (tables.acl_auth_methods.contains(view(wanted.getAuthMethod()))) return std::nullopt;
  return Error{Errc::rejected, "ACL binding rule insert failed: ACL auth method not found"};
}

std::optional<Error> AdmissionPolicies::may_put(const Tables& tables,
                                                const Object<Type>& stored,
                                                Reader) {
  if (stored || tables.admission_policies.size() < most) return std::nullopt;
  return Error{Errc::rejected,
               "there are " + std::to_string(most) + " sentinel policies, and may be no more"};
}

}  // namespace nomad::state::kind
