// OpenID Connect's authorization code flow as values: where the user is sent, what is asked of the
// provider's token endpoint, and what must hold of its answers. Who asks is not here.
//
// The server keeps nothing between the two requests of a login. The proof key (PKCE, S256) is made
// of a key of the cluster's and what both requests say (`proof_place`).
//
// May depend on: runtime/base, runtime/text. Pure; the time is an argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/access/login/token_check.hpp"

namespace nomad::access {

/// Both requests of one login.
struct OidcLogin {
  std::string method;
  std::string redirect_uri;
  std::string nonce;
  std::string state;
};

/// Whether one of `allowed` is it; the ports of loopback addresses may be any. None is allowed
/// without a list.
bool is_allowed_redirect(const std::vector<std::string>& allowed, std::string_view uri);

/// What the proof key of a login is derived from.
std::string proof_location(const OidcLogin& login);

/// Where the user goes to sign in. `verifier` is the proof key.
std::string authorization_url(std::string_view endpoint,
                              std::string_view client_id,
                              const std::vector<std::string>& scopes,
                              const OidcLogin& login,
                              std::string_view verifier);

struct OidcClient {
  std::string id;
  std::string secret = {};    ///< "" of a public client.
  bool posts_secret = false;  ///< In the form; else by the Authorization header.
};

/// What is posted to the token endpoint. No verifier: none was announced.
std::string exchange_form(const OidcClient& client,
                          std::string_view code,
                          const OidcLogin& login,
                          std::string_view verifier);

/// The Authorization header of it; "" when the form says who asks.
std::string exchange_authorization(const OidcClient& client);

struct OidcTokens {
  Jwt id_token;
  std::string access_token;  ///< "" without one.
};

/// The id token is not yet believed.
Result<OidcTokens> read_tokens(std::string_view json);

/// The claims of an id token that is the provider's, for this client and this login. `rules` says
/// the issuer, and the audiences that the method demands besides.
Result<Claims> check_id_token(const TokenRules& rules,
                              const PublicKeys& keys,
                              const OidcTokens& tokens,
                              std::string_view client_id,
                              std::string_view nonce,
                              std::int64_t now);

/// Puts what the user-info endpoint says over the claims, but not subject and issuer; it must be
/// about the same subject.
Result<> merge_user_info(Claims& claims, std::string_view json);

}  // namespace nomad::access
