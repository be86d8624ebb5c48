// LoginProvider: what a provider of logins says of itself, read from its discovery document (OpenID
// Connect Discovery) and its key set. Who asks for them is not here.
//
// May depend on: runtime/base, runtime/text. Pure. Tests: provider_test.
#pragma once

#include <string>
#include <string_view>

#include "runtime/access/login/public_key.hpp"
#include "runtime/text/url.hpp"

namespace nomad::access {

struct LoginProvider {
  std::string authorization_url;
  std::string token_url;
  std::string user_info_url;  ///< "" without one.
  std::string key_set_url;    ///< Where `keys` are to be had.
  std::string issuer;
  bool posts_secret = false;  ///< Takes a client's secret in the form alone.
  PublicKeys keys;

  /// Whether a token may be signed by a key that is known. `id` is what it names; "": any will do.
  bool has_key(std::string_view id) const;
};

/// What callers are told of an address, who are nobody yet: neither credentials nor its query.
std::string location_of(const Url& url);

/// What a discovery document says, which must be of the issuer that was asked for. Without the
/// keys.
Result<LoginProvider> read_discovery(std::string_view wanted_issuer, std::string_view json);

}  // namespace nomad::access
