// /v1/acl/login: a token for who shows one of a provider that a method trusts. Nobody needs a token
// for it; the provider's keys are looked for only once the token is one that the method could take.
// Tests: sign_in_test.
#include <fmt/format.h>

#include "actors/api/acl/acl_sign_in.hpp"
#include "runtime/jobspec/validate/validate.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {

Result<> check_given(std::string_view request,
                     const std::vector<std::pair<std::string_view, std::string_view>>& given) {
  std::vector<std::string> mistakes;
  for (const auto& one : given)
    if (one.second.empty()) mistakes.push_back(fmt::format("missing {}", one.first));
  if (mistakes.empty()) return {};
  return bad_request(
      fmt::format("invalid {} request: {}", request, jobspec::join_errors(mistakes)));
}

Result<MethodRef> sign_in_method(const Call& call, std::string_view name, std::string_view type) {
  if (!call.context->state.store) return no_leader();
  auto method = call.context->state.store->snapshot().row<state::kind::AclAuthMethods>(name);
  if (!method) return bad_request(fmt::format("auth-method \"{}\" not found", name));
  if (view(method->getType()) != type)
    return bad_request(fmt::format("unsupported auth-method type: {}", view(method->getType())));
  return method;
}

bool signs_in_elsewhere(Call& call, const MethodRef& method) {
  return view(method->getTokenLocality()) == "global" && dispatch_to_authority(call);
}

Outcome write_login(Call& call,
                    const SignInParts& parts,
                    const MethodRef& method,
                    access::Claims claims) {
  const auto login = std::make_shared<cluster::VerifiedLogin>();
  login->method = copy(method->getName());
  login->method_index = method->getModifyIndex();
  login->claims = std::move(claims);
  return write_token(
      call, parts.acl, SecretText{draw_uuid()},
      [login, bounds = parts.acl.options.bounds](const state::Snapshot& state,
                                                 const access::Asking&, const TokenRef& fresh) {
        return cluster::decide_login(state, *login, fresh, bounds);
      });
}

namespace {

Answer not_validated(const Error& error) {
  if (error.code == Errc::overloaded) return Answer::error(error);
  return Answer::text(net::status::unauthorized,
                      "unable to validate provided token: " + error.what);
}

Result<access::PublicKeys> static_keys(schema::AclAuthMethodConfig::Reader config) {
  access::PublicKeys keys;
  for (const auto pem : config.getJwtValidationPubKeys())
    keys.push_back(NOMAD_TRY(
        access::read_pem_key(view(pem)).within("unable to parse public key for JWT auth")));
  return keys;
}

struct JwtLogin {
  MethodRef method;
  access::Jwt jwt;
};

Outcome login_by(Call& call,
                 const SignInParts& parts,
                 const JwtLogin& login,
                 const access::PublicKeys& keys,
                 std::string_view issuer = {}) {
  const auto rules = cluster::token_rules(login.method->getConfig(), issuer);
  if (const auto checked = access::check_token(rules, keys, login.jwt, unix_now()); !checked)
    return not_validated(checked.error());
  return write_login(call, parts, login.method, login.jwt.claims);
}

/// On the query pool: signatures and certificates take their time.
Outcome verify_login(Call& call, const SignInParts& parts, const JwtLogin& login) {
  const auto config = login.method->getConfig();
  if (config.getJwtValidationPubKeys().size() != 0) {
    const auto keys = static_keys(config);
    if (!keys) return not_validated(keys.error());
    return login_by(call, parts, login, *keys);
  }
  const auto shared = share(std::move(call));
  const auto source = config.getJwksUrl().size() != 0
                          ? std::string_view{"unable to get validation keys from JWKS"}
                          : std::string_view{"unable to get validation keys from OIDC provider"};
  parts.providers->find(
      login.method, login.jwt.key_id, [shared, &parts, login, source](LoginProviders::Found found) {
        if (!found) return shared->fail(not_validated(found.error().within(source)));
        run_on(shared->context->pool, shared, [&parts, login, provider = *found](Call& again) {
          return login_by(again, parts, login, provider->keys, provider->issuer);
        });
      });
  return later;
}

Outcome login(Call& call, const SignInParts& parts) {
  const auto memory = wiping_memory();
  const auto body = NOMAD_TRY(read_body(call.request(), memory.get()));
  BodyFields fields{body, "ACLLoginRequest"};
  const auto name = fields.text("AuthMethodName");
  const auto token = fields.text("LoginToken");
  NOMAD_TRY(fields.check());
  NOMAD_TRY(check_given("login", {{"auth method name", name}, {"login token", token}}));
  auto method = NOMAD_TRY(sign_in_method(call, name, "JWT"));
  if (signs_in_elsewhere(call, method)) return later;
  auto jwt = access::parse_jwt(token);
  if (!jwt)
    return not_validated(jwt.error().within(
        "unable to verify signature of JWT token: error verifying token signature"));
  // Nobody is asked for keys because of a token that no key could have signed.
  const auto config = method->getConfig();
  const auto may = access::check_algorithm(cluster::token_rules(config), *jwt);
  if (!may && config.getJwtValidationPubKeys().size() == 0) return not_validated(may.error());
  return on_pool(call, [&parts, login = JwtLogin{std::move(method), std::move(*jwt)}](Call& again) {
    return verify_login(again, parts, login);
  });
}

}  // namespace

void add_acl_sign_in_routes(Routes& routes, AclParts acl) {
  SignInParts parts{std::move(acl), std::make_shared<LoginProviders>()};
  routes.at_stop([providers = parts.providers] { providers->stop(); });
  add_acl_oidc_routes(routes, parts);
  const auto with = routes.with(std::move(parts));
  routes.exact("/v1/acl/login", {{Methods::write, Capability::none, with(if_signing_in<login>)}});
}

}  // namespace nomad::api
