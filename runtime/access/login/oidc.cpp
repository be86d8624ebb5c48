#include "runtime/access/login/oidc.hpp"

#include <algorithm>

#include <boost/json/value.hpp>
#include <fmt/format.h>
#include <openssl/evp.h>

#include "runtime/base/base64.hpp"
#include "runtime/text/digest.hpp"
#include "runtime/text/url.hpp"

namespace nomad::access {

namespace {

Error unfit_login(std::string what) {
  return {Errc::corrupt, std::move(what)};
}

bool is_loopback_name(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

/// A loopback address without its port; nothing for others.
std::string without_port(std::string_view uri) {
  auto url = parse_url(uri);
  if (!url || !is_loopback_name(url->host_name())) return {};
  url->host = url->host_name();
  return url->text();
}

/// As a query writes it.
std::string form_text(std::string_view text) {
  UrlQuery query;
  query.set("x", text);
  return query.encode().substr(2);
}

/// The half of a hash that an id token has of what came with it.
std::string half_hash(std::string_view algorithm, std::string_view of) {
  const auto* digest = algorithm.ends_with("256")   ? EVP_sha256()
                       : algorithm.ends_with("384") ? EVP_sha384()
                                                    : EVP_sha512();
  std::string hash(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  EVP_Digest(of.data(), of.size(), reinterpret_cast<unsigned char*>(hash.data()), &size, digest,
             nullptr);
  return encode_jwt_part(std::string_view{hash}.substr(0, size / 2));
}

}  // namespace

bool is_allowed_redirect(const std::vector<std::string>& allowed, std::string_view uri) {
  const auto portless = without_port(uri);
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& one) {
    return one == uri || (!portless.empty() && without_port(one) == portless);
  });
}

std::string proof_location(const OidcLogin& login) {
  std::string location = "nomadctl oidc proof";
  for (const auto* part : {&login.method, &login.redirect_uri, &login.nonce, &login.state})
    location += fmt::format(" {}:{}", part->size(), *part);
  return location;
}

std::string authorization_url(std::string_view endpoint,
                              std::string_view client_id,
                              const std::vector<std::string>& scopes,
                              const OidcLogin& login,
                              std::string_view verifier) {
  std::string scope = "openid";
  for (const auto& one : scopes)
    if (one != "openid") scope += ' ' + one;
  UrlQuery query;
  query.set("client_id", client_id);
  query.set("code_challenge", encode_jwt_part(sha256(verifier)));
  query.set("code_challenge_method", "S256");
  query.set("nonce", login.nonce);
  query.set("redirect_uri", login.redirect_uri);
  query.set("response_type", "code");
  query.set("scope", scope);
  query.set("state", login.state);
  const char joint = endpoint.find('?') == endpoint.npos ? '?' : '&';
  return std::string{endpoint} + joint + query.encode();
}

std::string exchange_form(const OidcClient& client,
                          std::string_view code,
                          const OidcLogin& login,
                          std::string_view verifier) {
  UrlQuery form;
  form.set("code", code);
  form.set("grant_type", "authorization_code");
  form.set("redirect_uri", login.redirect_uri);
  if (!verifier.empty()) form.set("code_verifier", verifier);
  if (client.posts_secret || client.secret.empty()) form.set("client_id", client.id);
  if (client.posts_secret && !client.secret.empty()) form.set("client_secret", client.secret);
  return form.encode();
}

std::string exchange_authorization(const OidcClient& client) {
  if (client.posts_secret || client.secret.empty()) return {};
  return "Basic " + encode_base64(form_text(client.id) + ':' + form_text(client.secret));
}

Result<OidcTokens> read_tokens(std::string_view json) {
  const auto answer = NOMAD_TRY(read_claims(json));
  const auto id_token = text_claim(answer, "id_token");
  if (id_token.empty()) return unfit_login("id_token is missing from auth code exchange");
  return OidcTokens{NOMAD_TRY(parse_jwt(id_token)),
                    std::string{text_claim(answer, "access_token")}};
}

Result<Claims> check_id_token(const TokenRules& rules,
                              const PublicKeys& keys,
                              const OidcTokens& tokens,
                              std::string_view client_id,
                              std::string_view nonce,
                              std::int64_t now) {
  const auto& jwt = tokens.id_token;
  NOMAD_TRY(check_token(rules, keys, jwt, now));
  const auto& claims = jwt.claims;
  const auto audiences = audiences_of(claims);
  if (std::find(audiences.begin(), audiences.end(), client_id) == audiences.end())
    return unfit_login("invalid id_token audiences: the client is none of them");
  if (claims.contains("azp") && text_claim(claims, "azp") != client_id)
    return unfit_login("invalid id_token authorized party");
  if (!claims.contains("exp")) return unfit_login("the id_token has no expiration time");
  if (nonce.empty() || text_claim(claims, "nonce") != nonce)
    return unfit_login("invalid id_token nonce");
  if (text_claim(claims, "sub").empty()) return unfit_login("the id_token has no subject");
  if (claims.contains("at_hash")
      && text_claim(claims, "at_hash") != half_hash(jwt.algorithm, tokens.access_token))
    return unfit_login("invalid at_hash: the access_token is not that of the id_token");
  return claims;
}

Result<> merge_user_info(Claims& claims, std::string_view json) {
  const auto told = NOMAD_TRY(read_claims(json));
  const auto subject = text_claim(claims, "sub");
  if (subject.empty() || text_claim(told, "sub") != subject) return unfit_login("invalid subject");
  for (const auto& entry : told)
    if (entry.key() != "sub" && entry.key() != "iss")
      claims.insert_or_assign(entry.key(), entry.value());
  return {};
}

}  // namespace nomad::access
