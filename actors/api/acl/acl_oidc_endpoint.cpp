// /v1/acl/oidc/auth-url and …/complete-auth: signing in at an OpenID provider by its authorization
// code. Nothing is kept between the two. The state names the root key that the proof key is derived
// from, so that whoever serves the second request makes the same. Tests: oidc_sign_in_test.
#include <fmt/format.h>

#include "actors/api/acl/acl_sign_in.hpp"
#include "runtime/access/login/oidc.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::api {

namespace {

/// All failures with the provider are ours, as in Nomad.
Error oidc_failure(const Error& why, std::string_view attempt) {
  if (why.code == Errc::overloaded || why.code == Errc::no_leader) return why;
  return Error{Errc::unavailable, why.what}.within(attempt);
}

/// What goes through all steps of one login.
struct OidcStep {
  MethodRef method;
  access::OidcLogin login;
  std::string code;
};

using OidcStepRef = std::shared_ptr<OidcStep>;

/// The method, which must be of the type and allow the redirect.
Result<MethodRef> oidc_method(const Call& call, const access::OidcLogin& login) {
  auto method = NOMAD_TRY(sign_in_method(call, login.method, "OIDC"));
  if (!access::is_allowed_redirect(texts_of(method->getConfig().getAllowedRedirectUris()),
                                   login.redirect_uri))
    return Error{Errc::unavailable,
                 fmt::format("redirect URI \"{}\" is not allowed by auth-method \"{}\"",
                             login.redirect_uri, login.method)};
  return method;
}

Result<std::string> proof_key(const SignInParts& parts,
                              const Object<schema::RootKey>& key,
                              const access::OidcLogin& login) {
  const auto secret = NOMAD_TRY(parts.acl.keyring->derive(key, access::proof_location(login)));
  return access::encode_jwt_part(secret.text());
}

Outcome answer_url(const SignInParts& parts,
                   const OidcStep& step,
                   const LoginProvider& provider,
                   const Object<schema::RootKey>& key) {
  auto login = step.login;
  login.state = draw_uuid() + '.' + copy(key->getKeyId());
  const auto verifier = NOMAD_TRY(proof_key(parts, key, login));
  const auto config = step.method->getConfig();
  if (provider.authorization_url.empty())
    return Error{Errc::unavailable,
                 "failed to generate auth URL: the provider has no authorization endpoint"};
  JsonObject answer;
  answer.text("AuthURL",
              access::authorization_url(provider.authorization_url, view(config.getOidcClientId()),
                                        texts_of(config.getOidcScopes()), login, verifier));
  return Answer::json(answer.take());
}

Outcome make_url(Call& call, const SignInParts& parts) {
  const auto body = NOMAD_TRY(read_body(call.request()));
  BodyFields fields{body, "ACLOIDCAuthURLRequest"};
  const auto step = std::make_shared<OidcStep>();
  step->login.method = fields.text("AuthMethodName");
  step->login.nonce = fields.text("ClientNonce");
  step->login.redirect_uri = fields.text("RedirectURI");
  NOMAD_TRY(fields.check());
  NOMAD_TRY(check_given("OIDC auth-url", {{"auth method name", step->login.method},
                                          {"client nonce", step->login.nonce},
                                          {"redirect URI", step->login.redirect_uri}}));
  step->method = NOMAD_TRY(oidc_method(call, step->login));
  if (signs_in_elsewhere(call, step->method)) return later;
  return on_pool(call, [&parts, step](Call& again) -> Outcome {
    const auto shared = share(std::move(again));
    parts.providers->find(step->method, "", [shared, &parts, step](LoginProviders::Found found) {
      if (!found)
        return shared->fail(oidc_failure(found.error(), "failed to generate OIDC provider"));
      with_root_key(shared,
                    [shared, &parts, step, provider = *found](const Object<schema::RootKey>& key) {
                      shared->settle(answer_url(parts, *step, *provider, key));
                    });
    });
    return later;
  });
}

/// The secret of the method's client; "" without one.
Result<SecretText> client_secret(const Call& call, const SignInParts& parts, const MethodRef& row) {
  if (row->getSealed().size() == 0) return SecretText{};
  const auto key = call.context->state.store->snapshot().root_key(view(row->getKeyId()));
  const auto secret = NOMAD_TRY(parts.acl.keyring->open_secret(
      key, {auth_method_seal, view(row->getName())}, row->getSealed()));
  return SecretText{std::string{secret.text()}};
}

/// The proof key of a state that is ours; "" for others, of which the provider wants none.
std::string known_proof(const Call& call,
                        const SignInParts& parts,
                        const access::OidcLogin& login) {
  const auto dot = login.state.find('.');
  if (dot == login.state.npos) return {};
  const auto key = call.context->state.store->snapshot().root_key(login.state.substr(dot + 1));
  if (!key) return {};
  return proof_key(parts, key, login).value_or("");
}

/// The last step: the claims, with those of the user-info endpoint, if there is one.
void finish_oidc(const SharedCall& shared,
                 const SignInParts& parts,
                 const OidcStepRef& step,
                 access::Claims claims,
                 const std::string& user_info) {
  const auto attempt = "failed to retrieve the user info claims";
  run_on(shared->context->pool, shared,
         [&parts, step, claims = std::move(claims), user_info, attempt](Call& call) -> Outcome {
           auto all = claims;
           if (!user_info.empty())
             if (const auto merged = access::merge_user_info(all, user_info); !merged)
               return oidc_failure(merged.error(), attempt);
           return write_login(call, parts, step->method, std::move(all));
         });
}

Outcome take_tokens(Call& call,
                    const SignInParts& parts,
                    const OidcStepRef& step,
                    const LoginProvider& provider,
                    const access::OidcTokens& tokens) {
  const auto config = step->method->getConfig();
  auto rules = cluster::token_rules(config);
  rules.issuers = {provider.issuer};
  auto claims = access::check_id_token(rules, provider.keys, tokens, view(config.getOidcClientId()),
                                       step->login.nonce, unix_now());
  if (!claims) return oidc_failure(claims.error(), "failed to exchange token with provider");
  const auto shared = share(std::move(call));
  if (provider.user_info_url.empty() || tokens.access_token.empty()) {
    finish_oidc(shared, parts, step, std::move(*claims), "");
    return later;
  }
  parts.providers->ask(
      {.url = provider.user_info_url,
       .ca_pem = discovery_ca(config),
       .headers = {{"Authorization", "Bearer " + tokens.access_token}}},
      [shared, &parts, step, claims = std::move(*claims)](const Result<std::string>& told) {
        if (!told)
          return shared->fail(
              oidc_failure(told.error(), "failed to retrieve the user info claims"));
        finish_oidc(shared, parts, step, claims, *told);
      });
  return later;
}

Outcome exchange_code(Call& call,
                      const SignInParts& parts,
                      const OidcStepRef& step,
                      const LoginProvider& provider) {
  const auto config = step->method->getConfig();
  const auto secret = client_secret(call, parts, step->method);
  if (!secret) return oidc_failure(secret.error(), "failed to generate OIDC provider");
  const access::OidcClient client{copy(config.getOidcClientId()), secret->reveal(),
                                  provider.posts_secret};
  LoginProviders::Question question{.url = provider.token_url, .ca_pem = discovery_ca(config)};
  question.form = access::exchange_form(client, step->code, step->login,
                                        known_proof(call, parts, step->login));
  if (auto asks_as = access::exchange_authorization(client); !asks_as.empty())
    question.headers.push_back({"Authorization", std::move(asks_as)});
  const auto shared = share(std::move(call));
  parts.providers->ask(
      std::move(question), [shared, &parts, step](const Result<std::string>& told) {
        const auto attempt = "failed to exchange token with provider";
        if (!told) return shared->fail(oidc_failure(told.error(), attempt));
        const auto read = access::read_tokens(*told);
        if (!read) return shared->fail(oidc_failure(read.error(), attempt));
        const auto tokens = std::make_shared<const access::OidcTokens>(*read);
        // Its key may be newer than those that are known.
        parts.providers->find(step->method, tokens->id_token.key_id,
                              [shared, &parts, step, tokens, attempt](LoginProviders::Found found) {
                                if (!found)
                                  return shared->fail(oidc_failure(found.error(), attempt));
                                run_on(shared->context->pool, shared,
                                       [&parts, step, tokens, provider = *found](Call& again) {
                                         return take_tokens(again, parts, step, *provider, *tokens);
                                       });
                              });
      });
  return later;
}

Outcome complete_oidc(Call& call, const SignInParts& parts) {
  const auto memory = wiping_memory();
  const auto body = NOMAD_TRY(read_body(call.request(), memory.get()));
  BodyFields fields{body, "ACLOIDCCompleteAuthRequest"};
  const auto step = std::make_shared<OidcStep>();
  step->login.method = fields.text("AuthMethodName");
  step->login.nonce = fields.text("ClientNonce");
  step->login.state = fields.text("State");
  step->login.redirect_uri = fields.text("RedirectURI");
  step->code = fields.text("Code");
  NOMAD_TRY(fields.check());
  NOMAD_TRY(check_given("OIDC complete-auth", {{"auth method name", step->login.method},
                                               {"client nonce", step->login.nonce},
                                               {"state", step->login.state},
                                               {"code", step->code},
                                               {"redirect URI", step->login.redirect_uri}}));
  step->method = NOMAD_TRY(oidc_method(call, step->login));
  if (signs_in_elsewhere(call, step->method)) return later;
  return on_pool(call, [&parts, step](Call& again) -> Outcome {
    const auto shared = share(std::move(again));
    parts.providers->find(step->method, "", [shared, &parts, step](LoginProviders::Found found) {
      if (!found)
        return shared->fail(oidc_failure(found.error(), "failed to generate OIDC provider"));
      run_on(shared->context->pool, shared, [&parts, step, provider = *found](Call& mine) {
        return exchange_code(mine, parts, step, *provider);
      });
    });
    return later;
  });
}

}  // namespace

void add_acl_oidc_routes(Routes& routes, const SignInParts& parts) {
  const auto with = routes.with(parts);
  routes.exact("/v1/acl/oidc/auth-url",
               {{Methods::write, Capability::none, with(if_signing_in<make_url>)}});
  routes.exact("/v1/acl/oidc/complete-auth",
               {{Methods::write, Capability::none, with(if_signing_in<complete_oidc>)}});
}

}  // namespace nomad::api
