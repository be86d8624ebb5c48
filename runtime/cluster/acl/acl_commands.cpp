#include "runtime/cluster/acl/acl_commands.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/access/login/claim_mapping.hpp"
#include "runtime/access/login/public_key.hpp"
#include "runtime/access/policy/policy.hpp"
#include "runtime/base/text.hpp"
#include "runtime/cluster/acl/acl_names.hpp"
#include "runtime/cluster/content_hash.hpp"
#include "runtime/cluster/kind_commands.hpp"
#include "runtime/query/filter.hpp"
#include "runtime/text/url.hpp"

namespace nomad::cluster {

namespace {

namespace kind = state::kind;

constexpr std::size_t longest_acl_description = 256;

Error refused(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

Error invalid_object(std::string_view noun, const std::vector<std::string>& mistakes) {
  return refused(fmt::format("{} 0 invalid: {}", noun, jobspec::join_errors(mistakes)));
}

void check_name(std::vector<std::string>& mistakes, capnp::Text::Reader name) {
  if (!is_acl_name(view(name))) mistakes.push_back(fmt::format("invalid name '{}'", view(name)));
}

void check_description(std::vector<std::string>& mistakes, capnp::Text::Reader description) {
  if (description.size() > longest_acl_description)
    mistakes.push_back(fmt::format("description longer than {}", longest_acl_description));
}

void check_job_acl(std::vector<std::string>& mistakes, schema::AclPolicy::JobAcl::Reader job) {
  if (job.getJobId().size() != 0 && job.getNamespace().size() == 0)
    mistakes.emplace_back("namespace must be set to set job ID");
  if (job.getJobId().size() == 0 && job.getNamespace().size() != 0)
    mistakes.emplace_back("job ID must be set to set namespace");
  if (job.getGroup().size() != 0 && job.getJobId().size() == 0)
    mistakes.emplace_back("job ID must be set to set group");
  if (job.getTask().size() != 0 && job.getGroup().size() == 0)
    mistakes.emplace_back("group must be set to set task");
}

/// Whether a draft says what is stored. The hash would not tell: ["ab"] and ["a", "b"] have one.
template <class T>
bool is_stored(typename T::Reader wanted, const Object<T>& stored) {
  if (!stored) return false;
  Draft<T> draft{wanted};
  draft->setHash(stored->getHash());
  draft->setCreateIndex(stored->getCreateIndex());
  draft->setModifyIndex(stored->getModifyIndex());
  if constexpr (requires { draft->setModifyTime(0); }) {
    draft->setCreateTime(stored->getCreateTime());
    draft->setModifyTime(stored->getModifyTime());
  }
  return draft.freeze().equals(Draft<T>{stored}.freeze());
}

void set_method_hash(schema::AclAuthMethod::Builder method) {
  const auto all = method.asReader();
  const auto config = all.getConfig();
  ContentHash hash;
  const auto number = [&hash](auto value) { hash.add(std::string_view{std::to_string(value)}); };
  hash.add(all.getName());
  hash.add(all.getType());
  hash.add(all.getTokenLocality());
  number(all.getMaxTokenTtl());
  number(all.getDefault());
  hash.add(all.getKeyId());  // another seal is another secret
  hash.add(kind::bytes_of(all.getSealed()));
  for (const auto one : {config.getJwksUrl(), config.getOidcDiscoveryUrl(),
                         config.getOidcClientId(), config.getJwksCaCert()}) {
    hash.add(one);
    hash.add(std::string_view{"\0", 1});
  }
  for (const auto list :
       {config.getJwtValidationPubKeys(), config.getOidcScopes(), config.getBoundAudiences(),
        config.getBoundIssuer(), config.getAllowedRedirectUris(), config.getDiscoveryCaPem(),
        config.getSigningAlgs()}) {
    hash.add_each(list);
    hash.add(std::string_view{"\0", 1});
  }
  number(config.getExpirationLeeway());
  number(config.getNotBeforeLeeway());
  number(config.getClockSkewLeeway());
  hash.add_entries(config.getClaimMappings());
  hash.add(std::string_view{"\0", 1});
  hash.add_entries(config.getListClaimMappings());
  method.setHash(hash.finish());
}

/// What `wanted` leaves out.
void merge_method(schema::AclAuthMethod::Builder method, schema::AclAuthMethod::Reader stored) {
  if (method.asReader().getType().size() == 0) method.setType(stored.getType());
  if (method.asReader().getTokenLocality().size() == 0)
    method.setTokenLocality(stored.getTokenLocality());
  if (method.getMaxTokenTtl() == 0) method.setMaxTokenTtl(stored.getMaxTokenTtl());
  method.setCreateTime(stored.getCreateTime());
}

/// A configuration that is given replaces the stored one whole, but for a secret that the caller
/// was not shown.
void set_config(schema::AclAuthMethod::Builder method,
                schema::AclAuthMethod::Reader wanted,
                schema::AclAuthMethod::Reader stored,
                schema::AclAuthMethod::Reader seal) {
  auto from = seal;
  const bool is_kept = view(wanted.getConfig().getOidcClientSecret()) == redacted;
  if (!wanted.hasConfig() || is_kept) from = stored;
  if (!wanted.hasConfig() && stored.hasConfig()) method.setConfig(stored.getConfig());
  method.setKeyId(from.getKeyId());
  method.setSealed(from.getSealed());
  if (method.hasConfig()) method.getConfig().setOidcClientSecret("");
}

/// Where a provider is asked. Its URL is told to who may read the method, so it has no credentials.
void check_provider_url(std::vector<std::string>& mistakes,
                        std::string_view name,
                        capnp::Text::Reader given) {
  if (given.size() == 0) return;
  const auto url = parse_url(view(given));
  if (!url || (url->scheme != "http" && url->scheme != "https") || url->host_name().empty())
    mistakes.push_back(fmt::format("invalid {}: a URL by http or https is expected", name));
  else if (!url->userinfo.empty())
    mistakes.push_back(fmt::format("invalid {}: use a URL without credentials", name));
}

/// What would let nobody sign in, or be a secret that everybody who reads the method is shown.
void check_config(std::vector<std::string>& mistakes, schema::AclAuthMethodConfig::Reader config) {
  check_provider_url(mistakes, "JWKSURL", config.getJwksUrl());
  check_provider_url(mistakes, "OIDCDiscoveryURL", config.getOidcDiscoveryUrl());
  for (const auto key : config.getJwtValidationPubKeys())
    if (view(key).find("PRIVATE KEY-----") != std::string_view::npos) {
      mistakes.emplace_back(
          "invalid JWTValidationPubKeys: one is a private key; public keys or certificates are "
          "expected");
      break;
    }
  for (const auto algorithm : config.getSigningAlgs())
    if (!access::is_signing_algorithm(view(algorithm)))
      mistakes.push_back(fmt::format("invalid SigningAlgs value '{}': it must be one of {}",
                                     view(algorithm), access::signing_algorithms()));
}

std::vector<std::string> method_mistakes(schema::AclAuthMethod::Reader method,
                                         const TokenBounds& bounds) {
  std::vector<std::string> mistakes;
  check_name(mistakes, method.getName());
  const auto locality = view(method.getTokenLocality());
  if (locality != "local" && locality != "global")
    mistakes.push_back(fmt::format("invalid token locality '{}'", locality));
  const auto type = view(method.getType());
  if (type != "OIDC" && type != "JWT")
    mistakes.push_back(fmt::format("invalid token type '{}'", type));
  const Nanoseconds life{method.getMaxTokenTtl()};
  if (life < bounds.least || life > bounds.most)
    mistakes.push_back(fmt::format("invalid MaxTokenTTL value '{}' (should be between {} and {})",
                                   format_duration(life), format_duration(bounds.least),
                                   format_duration(bounds.most)));
  return mistakes;
}

std::vector<std::string> rule_mistakes(schema::AclBindingRule::Reader rule) {
  std::vector<std::string> mistakes;
  if (rule.getAuthMethod().size() == 0) mistakes.emplace_back("auth method is missing");
  check_description(mistakes, rule.getDescription());
  const auto type = view(rule.getBindType());
  const bool is_named = rule.getBindName().size() != 0;
  if (type.empty()) {
    mistakes.emplace_back("bind type is missing");
  } else if (type == "role" || type == "policy") {
    if (!is_named) mistakes.emplace_back("bind name is missing");
    // Or each login by its method would fail.
    if (const auto name = access::check_bind_name(view(rule.getBindName())); !name)
      mistakes.push_back(name.error().what);
  } else if (type == "management") {
    if (is_named) mistakes.emplace_back("bind name should be empty");
  } else {
    mistakes.push_back(fmt::format("unsupported bind type: \"{}\"", type));
  }
  if (rule.getSelector().size() != 0)
    if (const auto filter = query::Filter::compile(view(rule.getSelector())); !filter)
      mistakes.push_back("selector is invalid: " + filter.error().what);
  return mistakes;
}

}  // namespace

Result<AclDecision> decide_put_policy(const access::Asking& asking,
                                      schema::AclPolicy::Reader policy) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  std::vector<std::string> mistakes;
  check_name(mistakes, policy.getName());
  if (const auto rules = access::read_policy(view(policy.getRules()), access::PolicyText::written);
      !rules)
    mistakes.push_back("failed to parse rules: " + rules.error().what);
  check_description(mistakes, policy.getDescription());
  if (policy.hasJobAcl()) check_job_acl(mistakes, policy.getJobAcl());
  if (!mistakes.empty()) return invalid_object("policy", mistakes);
  ContentHash hash;
  hash.add(policy.getName());
  hash.add(policy.getDescription());
  hash.add(policy.getRules());
  if (policy.hasJobAcl()) {
    const auto job = policy.getJobAcl();
    for (const auto part : {job.getNamespace(), job.getJobId(), job.getGroup(), job.getTask()})
      hash.add(part);
  }
  Draft<schema::AclPolicy> draft{policy};
  draft->setHash(hash.finish());
  return AclDecision{allowed, put_command<kind::AclPolicies>(draft.reader()),
                     copy(policy.getName())};
}

Result<AclDecision> decide_delete_policy(const state::Snapshot& state,
                                         const access::Asking& asking,
                                         std::string_view name) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  AclDecision decision{allowed, {}, std::string{name}};
  if (state.row<kind::AclPolicies>(name))
    decision.command = remove_command<kind::AclPolicies>(name);
  return decision;
}

Result<AclDecision> decide_put_role(const state::Snapshot& state,
                                    const access::Asking& asking,
                                    schema::AclRole::Reader wanted,
                                    std::string_view fresh_id) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  std::vector<std::string> mistakes;
  check_name(mistakes, wanted.getName());
  check_description(mistakes, wanted.getDescription());
  if (wanted.getPolicies().size() == 0)
    mistakes.emplace_back("at least one policy should be specified");
  if (!mistakes.empty()) return invalid_object("role", mistakes);
  const auto id = view(wanted.getId());
  const auto stored = state.row<kind::AclRoles>(id);
  if (id.empty() && role_of_name(state, view(wanted.getName())))
    return refused(fmt::format("role with name {} already exists", view(wanted.getName())));
  if (!id.empty() && !stored) return refused(fmt::format("cannot find role {}", id));
  std::vector<std::string> policies;
  for (const auto link : wanted.getPolicies()) {
    const auto name = copy(link.getName());
    if (!state.row<kind::AclPolicies>(name))
      return refused(fmt::format("cannot find policy {}", name));
    if (std::find(policies.begin(), policies.end(), name) == policies.end())
      policies.push_back(name);
  }
  Draft<schema::AclRole> draft;
  draft->setId(text(id.empty() ? fresh_id : id));
  draft->setName(wanted.getName());
  draft->setDescription(wanted.getDescription());
  auto links = draft->initPolicies(static_cast<unsigned>(policies.size()));
  ContentHash hash;
  hash.add(wanted.getName());
  hash.add(wanted.getDescription());
  for (unsigned i = 0; i < links.size(); ++i) {
    links[i].setName(text(policies[i]));
    hash.add(std::string_view{policies[i]});
  }
  draft->setHash(hash.finish());
  AclDecision decision{allowed, {}, copy(draft.reader().getId())};
  if (!is_stored<schema::AclRole>(draft.reader(), stored))
    decision.command = put_command<kind::AclRoles>(draft.reader());
  return decision;
}

Result<AclDecision> decide_put_auth_method(const state::Snapshot& state,
                                           const access::Asking& asking,
                                           schema::AclAuthMethod::Reader wanted,
                                           schema::AclAuthMethod::Reader seal,
                                           const TokenBounds& bounds,
                                           std::int64_t now) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  const auto stored = state.row<kind::AclAuthMethods>(view(wanted.getName()));
  Draft<schema::AclAuthMethod> draft{wanted};
  draft->setCreateTime(now);
  if (stored) merge_method(*draft, *stored);
  set_config(*draft, wanted, stored ? stored.reader() : schema::AclAuthMethod::Reader{}, seal);
  auto mistakes = method_mistakes(draft.reader(), bounds);
  // A stored configuration that stays may be of an older release, which took more.
  if (wanted.hasConfig()) check_config(mistakes, wanted.getConfig());
  if (!mistakes.empty()) return invalid_object("auth method", mistakes);
  if (auto error
      = kind::AclAuthMethods::may_put(state.unguarded().tables(), stored, draft.reader()))
    return *std::move(error);
  draft->setModifyTime(now);
  set_method_hash(*draft);
  AclDecision decision{allowed, {}, copy(wanted.getName())};
  if (!is_stored<schema::AclAuthMethod>(draft.reader(), stored))
    decision.command = put_command<kind::AclAuthMethods>(draft.reader());
  return decision;
}

Result<AclDecision> decide_put_binding_rule(const state::Snapshot& state,
                                            const access::Asking& asking,
                                            schema::AclBindingRule::Reader wanted,
                                            std::string_view fresh_id,
                                            std::int64_t now) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  const auto id = view(wanted.getId());
  const auto stored = state.row<kind::AclBindingRules>(id);
  if (!id.empty() && !stored) return refused(fmt::format("cannot find binding rule {}", id));
  Draft<schema::AclBindingRule> draft{wanted};
  draft->setCreateTime(now);
  if (stored) {
    if (wanted.getBindName().size() == 0 && stored->hasBindName())
      draft->setBindName(stored->getBindName());
    if (wanted.getBindType().size() == 0 && stored->hasBindType())
      draft->setBindType(stored->getBindType());
    if (wanted.getAuthMethod().size() == 0 && stored->hasAuthMethod())
      draft->setAuthMethod(stored->getAuthMethod());
    if (draft.reader().getAuthMethod() != stored->getAuthMethod())
      return refused("cannot update auth method for binding rule, create a new rule instead");
    draft->setCreateTime(stored->getCreateTime());
  }
  if (const auto mistakes = rule_mistakes(draft.reader()); !mistakes.empty())
    return invalid_object("binding rule", mistakes);
  const auto method = view(draft.reader().getAuthMethod());
  if (!state.row<kind::AclAuthMethods>(method))
    return refused(fmt::format("ACL auth method {} not found", method));
  draft->setModifyTime(now);
  if (id.empty()) draft->setId(text(fresh_id));
  const auto rule = draft.reader();
  ContentHash hash;
  for (const auto part : {rule.getId(), rule.getDescription(), rule.getAuthMethod(),
                          rule.getSelector(), rule.getBindType(), rule.getBindName()})
    hash.add(part);
  draft->setHash(hash.finish());
  AclDecision decision{allowed, {}, copy(draft.reader().getId())};
  if (!is_stored<schema::AclBindingRule>(draft.reader(), stored))
    decision.command = put_command<kind::AclBindingRules>(draft.reader());
  return decision;
}

}  // namespace nomad::cluster
