// The descriptors of what access control stores (kinds.hpp says what a descriptor is): policies,
// tokens, roles, one-time tokens, methods of signing in and the rules that bind who has signed in;
// and the policies of admission. Only decisions about these read their tables, so that no guard of
// an older command names one, but for the last.
#pragma once

#include <tuple>
#include <vector>

#include "runtime/state/kinds/kind.hpp"
#include "schema/acl.capnp.h"
#include "schema/admission.capnp.h"

namespace nomad::state::kind {

/// A hash as a key: its bytes.
inline std::string_view bytes_of(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

struct AclPolicies : Stored<schema::AclPolicy, Table::acl_policies> {
  struct Rows {
    Objects<Type> acl_policies;                  ///< name
    PersistentMap<Nothing> acl_policies_by_job;  ///< namespace\0job id\0name
  };

  static constexpr auto rows = &Rows::acl_policies;
  static constexpr std::string_view name = "acl_policies";
  static constexpr std::string_view topic = "ACLPolicy";
  static constexpr PutCommand put{
      schema::Command::ACL_POLICY_UPSERT, &schema::Command::Reader::getAclPolicyUpsert,
      &schema::Command::Builder::setAclPolicyUpsert, "ACLPolicyUpserted"};
  static constexpr RemoveCommand remove{
      schema::Command::ACL_POLICY_DELETE, &schema::Command::Reader::getAclPolicyDelete,
      &schema::Command::Builder::setAclPolicyDelete, "ACLPolicyDeleted"};

  static std::string key(Reader policy) { return copy(policy.getName()); }

  static std::string missing(std::string_view) { return "ACL policy not found"; }

  static bool is_shared(Reader) { return true; }

  /// Of those that workloads have.
  static std::optional<std::string> key_by_job(Reader policy);

  static constexpr std::tuple indexes{RowIndex{&Rows::acl_policies_by_job, &key_by_job}};
};

/// Their commands are more than to put and to remove: apply_acl.cpp.
struct AclTokens : Stored<schema::AclToken, Table::acl_tokens> {
  struct Rows {
    Objects<Type> acl_tokens;                        ///< accessor
    Objects<Type> acl_tokens_by_secret;              ///< `key_of_hash` of the secret's
    Objects<Type> acl_tokens_by_create;              ///< create index, accessor
    PersistentMap<Nothing> acl_tokens_by_expiry;     ///< expiration time, accessor
    PersistentMap<std::uint64_t> acl_sealed_by_key;  ///< Tokens and auth methods per root key.
    Index acl_tokens_replaced = 0;  ///< Of the last change of one that there was before.
  };

  static constexpr auto rows = &Rows::acl_tokens;
  static constexpr std::string_view name = "acl_tokens";
  static constexpr std::string_view topic = "ACLToken";
  static constexpr std::string_view copied_event = "ACLTokenUpserted";
  static constexpr std::string_view dropped_event = "ACLTokenDeleted";

  static std::string key(Reader token) { return copy(token.getAccessorId()); }

  static bool is_shared(Reader token) { return token.getGlobal(); }

  /// Who has its secret.
  static std::string rival(const Tables& tables, Reader token);

  /// As much of a hash as a string holds without memory of its own. Who has found a row compares
  /// the whole.
  static std::string_view key_of_hash(std::string_view hash) { return hash.substr(0, 15); }

  static std::string key_by_secret(Reader token) {
    return std::string{key_of_hash(bytes_of(token.getSecretHash()))};
  }

  static std::string key_by_create(Reader token) {
    return number_key(token.getCreateIndex()).append(view(token.getAccessorId()));
  }

  /// Of those that expire.
  static std::optional<std::string> key_by_expiry(Reader token);

  static constexpr std::tuple indexes{
      RowIndex{&Rows::acl_tokens_by_secret, &key_by_secret},
      RowIndex{&Rows::acl_tokens_by_create, &key_by_create},
      RowIndex{&Rows::acl_tokens_by_expiry, &key_by_expiry},
  };

  /// Counts it for the root key that sealed its secret, and notes whether there was one before.
  static void derive(Tables& tables,
                     const Object<Type>& before,
                     const Object<Type>& after,
                     const Derivation& how);
};

struct AclOneTimeTokens : Stored<schema::AclOneTimeToken, Table::acl_one_time_tokens> {
  struct Rows {
    Objects<Type> acl_one_time_tokens;                       ///< hash of the secret
    PersistentMap<Nothing> acl_one_time_tokens_by_accessor;  ///< accessor\0hash of the secret
    PersistentMap<Nothing> acl_one_time_tokens_by_expiry;    ///< time, hash of the secret
  };

  /// Of one token at a time.
  static constexpr std::size_t most_of_a_token = 100;

  static constexpr auto rows = &Rows::acl_one_time_tokens;
  static constexpr std::string_view name = "acl_one_time_tokens";
  static constexpr PutCommand put{schema::Command::ACL_ONE_TIME_TOKEN_UPSERT,
                                  &schema::Command::Reader::getAclOneTimeTokenUpsert,
                                  &schema::Command::Builder::setAclOneTimeTokenUpsert};

  static std::string key(Reader token) { return std::string{bytes_of(token.getSecretHash())}; }

  static std::string key_by_accessor(Reader token) {
    return join_key(view(token.getAccessorId()), bytes_of(token.getSecretHash()));
  }

  static std::string key_by_expiry(Reader token) {
    return number_key(static_cast<std::uint64_t>(token.getExpiresAt())).append(key(token));
  }

  static constexpr std::tuple indexes{
      RowIndex{&Rows::acl_one_time_tokens_by_accessor, &key_by_accessor},
      RowIndex{&Rows::acl_one_time_tokens_by_expiry, &key_by_expiry},
  };

  static std::optional<Error> may_put(const Tables&, const Object<Type>& stored, Reader wanted);
};

struct AclRoles : Stored<schema::AclRole, Table::acl_roles> {
  struct Rows {
    Objects<Type> acl_roles;          ///< id
    Objects<Type> acl_roles_by_name;  ///< name
  };

  static constexpr auto rows = &Rows::acl_roles;
  static constexpr std::string_view name = "acl_roles";
  static constexpr std::string_view topic = "ACLRole";
  static constexpr PutCommand put{schema::Command::ACL_ROLE_UPSERT,
                                  &schema::Command::Reader::getAclRoleUpsert,
                                  &schema::Command::Builder::setAclRoleUpsert, "ACLRoleUpserted"};
  static constexpr RemoveCommand remove{
      schema::Command::ACL_ROLE_DELETE, &schema::Command::Reader::getAclRoleDelete,
      &schema::Command::Builder::setAclRoleDelete, "ACLRoleDeleted"};

  static std::string key(Reader role) { return copy(role.getId()); }

  static std::string missing(std::string_view) { return "ACL role not found"; }

  static bool is_shared(Reader) { return true; }

  /// Who has its name.
  static std::string rival(const Tables& tables, Reader role);

  static std::string key_by_name(Reader role) { return copy(role.getName()); }

  static constexpr std::tuple indexes{RowIndex{&Rows::acl_roles_by_name, &key_by_name}};

  static std::vector<std::string_view> filter_keys(Reader role) { return {view(role.getName())}; }

  /// Nobody else may have the name, and the policies must be there.
  static std::optional<Error> may_put(const Tables&, const Object<Type>& stored, Reader wanted);
};

struct AclAuthMethods : Stored<schema::AclAuthMethod, Table::acl_auth_methods> {
  struct Rows {
    Objects<Type> acl_auth_methods;  ///< name
  };

  static constexpr auto rows = &Rows::acl_auth_methods;
  static constexpr std::string_view name = "acl_auth_methods";
  static constexpr std::string_view topic = "ACLAuthMethod";
  static constexpr PutCommand put{
      schema::Command::ACL_AUTH_METHOD_UPSERT, &schema::Command::Reader::getAclAuthMethodUpsert,
      &schema::Command::Builder::setAclAuthMethodUpsert, "ACLAuthMethodUpserted"};
  static constexpr RemoveCommand remove{
      schema::Command::ACL_AUTH_METHOD_DELETE, &schema::Command::Reader::getAclAuthMethodDelete,
      &schema::Command::Builder::setAclAuthMethodDelete, "ACLAuthMethodDeleted"};

  static std::string key(Reader method) { return copy(method.getName()); }

  static std::string missing(std::string_view) { return "ACL auth method not found"; }

  static bool is_shared(Reader) { return true; }

  /// At most one is the default.
  static std::optional<Error> may_put(const Tables&, const Object<Type>& stored, Reader wanted);

  /// As of tokens.
  static void derive(Tables& tables,
                     const Object<Type>& before,
                     const Object<Type>& after,
                     const Derivation& how);
};

struct AclBindingRules : Stored<schema::AclBindingRule, Table::acl_binding_rules> {
  struct Rows {
    Objects<Type> acl_binding_rules;                     ///< id
    PersistentMap<Nothing> acl_binding_rules_by_method;  ///< method\0id
  };

  static constexpr auto rows = &Rows::acl_binding_rules;
  static constexpr std::string_view name = "acl_binding_rules";
  static constexpr std::string_view topic = "ACLBindingRule";
  static constexpr PutCommand put{
      schema::Command::ACL_BINDING_RULE_UPSERT, &schema::Command::Reader::getAclBindingRuleUpsert,
      &schema::Command::Builder::setAclBindingRuleUpsert, "ACLBindingRuleUpserted"};
  static constexpr RemoveCommand remove{
      schema::Command::ACL_BINDING_RULE_DELETE, &schema::Command::Reader::getAclBindingRuleDelete,
      &schema::Command::Builder::setAclBindingRuleDelete, "ACLBindingRuleDeleted"};

  static std::string key(Reader rule) { return copy(rule.getId()); }

  static std::string missing(std::string_view) { return "ACL binding rule not found"; }

  static bool is_shared(Reader) { return true; }

  static std::string key_by_method(Reader rule) {
    return join_key(view(rule.getAuthMethod()), view(rule.getId()));
  }

  static constexpr std::tuple indexes{RowIndex{&Rows::acl_binding_rules_by_method, &key_by_method}};

  static std::vector<std::string_view> filter_keys(Reader rule) {
    return {view(rule.getAuthMethod())};
  }

  /// There must be its method.
  static std::optional<Error> may_put(const Tables&, const Object<Type>& stored, Reader wanted);
};

struct AclBootstraps : Stored<schema::AclBootstrap, Table::acl_bootstrap> {
  struct Rows {
    Object<Type> acl_bootstrap;  ///< Empty: there was none yet.
  };

  static constexpr auto rows = &Rows::acl_bootstrap;
  static constexpr std::string_view name = "acl_bootstrap";

  static std::string key(Reader) { return {}; }
};

/// Decisions about jobs read these once there was ever one (cluster::judge_submission).
struct AdmissionPolicies : Stored<schema::AdmissionPolicy, Table::admission_policies> {
  struct Rows {
    Objects<Type> admission_policies;  ///< name
  };

  /// Each costs each job that comes in.
  static constexpr std::size_t most = 128;

  static constexpr auto rows = &Rows::admission_policies;
  static constexpr std::string_view name = "admission_policies";
  static constexpr PutCommand put{schema::Command::ADMISSION_POLICY_UPSERT,
                                  &schema::Command::Reader::getAdmissionPolicyUpsert,
                                  &schema::Command::Builder::setAdmissionPolicyUpsert};
  static constexpr RemoveCommand remove{schema::Command::ADMISSION_POLICY_DELETE,
                                        &schema::Command::Reader::getAdmissionPolicyDelete,
                                        &schema::Command::Builder::setAdmissionPolicyDelete};

  static std::string key(Reader policy) { return copy(policy.getName()); }

  static std::string missing(std::string_view) { return "sentinel policy not found"; }

  static bool is_shared(Reader) { return true; }

  /// There are no more than `most`.
  static std::optional<Error> may_put(const Tables&, const Object<Type>& stored, Reader wanted);
};

}  // namespace nomad::state::kind
