#include "runtime/cluster/acl/login_commands.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/cluster/acl/acl_names.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/query/filter.hpp"
#include "schema/login.capnp.h"

namespace nomad::cluster {

namespace {

namespace kind = state::kind;

Nanoseconds leeway_of(std::int64_t nanoseconds) {
  return Nanoseconds{nanoseconds};
}

/// As selectors see them.
Object<schema::LoginClaims> selectable(const access::MappedClaims& claims) {
  Draft<schema::LoginClaims> draft;
  auto values = draft->initValue(static_cast<unsigned>(claims.values.size()));
  unsigned at = 0;
  for (const auto& entry : claims.values) {
    values[at].setKey(text(entry.first));
    values[at++].setValue(text(entry.second));
  }
  auto lists = draft->initList(static_cast<unsigned>(claims.lists.size()));
  at = 0;
  for (const auto& entry : claims.lists) {
    lists[at].setKey(text(entry.first));
    auto list = lists[at++].initValue(static_cast<unsigned>(entry.second.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.set(i, text(entry.second[i]));
  }
  return draft.freeze();
}

/// One that is invalid, or asks for what there cannot be, selects nobody.
bool selects(std::string_view selector, const Object<schema::LoginClaims>& claims) {
  if (selector.empty()) return true;
  const auto filter = query::Filter::compile(selector);
  return filter && filter->matches(claims.reader()).value_or(false);
}

struct Bindings {
  bool manages = false;
  std::vector<std::string> policies;
  std::vector<std::string> roles;  ///< Ids.
};

void add_once(std::vector<std::string>& all, std::string one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
}

/// What one rule that selects him binds. There may be no such role or policy: then nothing.
Result<> bind(Bindings& bindings,
              const state::Snapshot& state,
              schema::AclBindingRule::Reader rule,
              const access::MappedClaims& claims) {
  const auto type = view(rule.getBindType());
  if (type == "management") {
    bindings.manages = true;
    return {};
  }
  const auto name = NOMAD_TRY(
      access::fill_bind_name(view(rule.getBindName()), claims)
          .within(fmt::format("cannot compute \"{}\" bind name for bind target", type)));
  if (!is_acl_name(name))
    return Error{
        Errc::corrupt,
        fmt::format("computed \"{}\" bind name for bind target is invalid: \"{}\"", type, name)};
  if (type == "role") {
    if (const auto role = role_of_name(state, name)) add_once(bindings.roles, copy(role->getId()));
  } else if (type == "policy") {
    if (state.row<kind::AclPolicies>(name)) add_once(bindings.policies, name);
  }
  return {};
}

Result<Bindings> bindings_of(const state::Snapshot& state,
                             std::string_view method,
                             const access::MappedClaims& claims) {
  const auto row = selectable(claims);
  Bindings bindings;
  for (const auto& entry : state.rows<kind::AclBindingRules>().all()) {
    const auto& rule = entry.value();
    if (view(rule->getAuthMethod()) != method || !selects(view(rule->getSelector()), row)) continue;
    NOMAD_TRY(bind(bindings, state, *rule, claims));
    if (bindings.manages) break;
  }
  return bindings;
}

Object<schema::AclToken> wanted_token(schema::AclAuthMethod::Reader method,
                                      const Bindings& bindings) {
  Draft<schema::AclToken> token;
  const auto name = fmt::format("{}-{}", view(method.getType()), view(method.getName()));
  token->setName(text(name));
  token->setGlobal(view(method.getTokenLocality()) == "global");
  token->setExpirationTtl(method.getMaxTokenTtl());
  token->setType(bindings.manages ? "management" : "client");
  if (bindings.manages) return token.freeze();
  if (!bindings.policies.empty()) {
    auto policies = token->initPolicies(static_cast<unsigned>(bindings.policies.size()));
    for (unsigned i = 0; i < policies.size(); ++i)
      policies.set(i, text(bindings.policies[i]));
  }
  auto roles = token->initRoles(static_cast<unsigned>(bindings.roles.size()));
  for (unsigned i = 0; i < roles.size(); ++i)
    roles[i].setId(text(bindings.roles[i]));
  return token.freeze();
}

}  // namespace

access::TokenRules token_rules(schema::AclAuthMethodConfig::Reader config,
                               std::string_view discovered) {
  auto issuers = texts_of(config.getBoundIssuer());
  if (issuers.empty() && !discovered.empty()) issuers.emplace_back(discovered);
  return {.algorithms = texts_of(config.getSigningAlgs()),
          .audiences = texts_of(config.getBoundAudiences()),
          .issuers = std::move(issuers),
          .expiration_leeway = leeway_of(config.getExpirationLeeway()),
          .not_before_leeway = leeway_of(config.getNotBeforeLeeway()),
          .clock_skew = leeway_of(config.getClockSkewLeeway())};
}

Result<AclDecision> decide_login(const state::Snapshot& state,
                                 const VerifiedLogin& login,
                                 const Object<schema::AclToken>& fresh,
                                 const TokenBounds& bounds) {
  const auto method = state.row<kind::AclAuthMethods>(login.method);
  if (!method || method->getModifyIndex() != login.method_index)
    return Error{Errc::conflict,
                 fmt::format("auth-method \"{}\" has changed; sign in again", login.method)};
  const auto config = method->getConfig();
  access::ClaimMapping values;
  access::ClaimMapping lists;
  read_entries(config.getClaimMappings(), values);
  read_entries(config.getListClaimMappings(), lists);
  const auto claims = NOMAD_TRY(access::map_claims(login.claims, values, lists));
  const auto bindings = NOMAD_TRY(bindings_of(state, login.method, claims));
  if (!bindings.manages && bindings.policies.empty() && bindings.roles.empty())
    return Error{Errc::invalid_argument, "no role or policy bindings matched"};
  return decide_put_token(state, access::Asking::of_cluster("acl_login"),
                          wanted_token(*method, bindings), fresh, bounds);
}

}  // namespace nomad::cluster
