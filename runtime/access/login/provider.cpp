#include "runtime/access/login/provider.hpp"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/access/login/claims.hpp"

namespace nomad::access {

namespace {

/// Whether the token endpoint takes clients by their form and not by a header, which is what a
/// provider takes that says nothing.
bool only_posts(const Claims& document) {
  const auto* found = document.if_contains("token_endpoint_auth_methods_supported");
  if (found == nullptr || !found->is_array()) return false;
  const auto& all = found->as_array();
  const auto has = [&all](std::string_view name) {
    return std::any_of(all.begin(), all.end(), [name](const boost::json::value& one) {
      return one.is_string()
             && one.as_string() == boost::json::string_view{name.data(), name.size()};
    });
  };
  return has("client_secret_post") && !has("client_secret_basic");
}

}  // namespace

bool LoginProvider::has_key(std::string_view id) const {
  return id.empty() || std::any_of(keys.begin(), keys.end(), [id](const PublicKey& key) {
           return key.id().empty() || key.id() == id;
         });
}

std::string location_of(const Url& url) {
  Url bare = url;
  bare.userinfo.clear();
  bare.query.clear();
  bare.fragment.clear();
  return bare.text();
}

Result<LoginProvider> read_discovery(std::string_view wanted_issuer, std::string_view json) {
  const auto document = NOMAD_TRY(read_claims(json));
  LoginProvider provider;
  provider.issuer = text_claim(document, "issuer");
  provider.authorization_url = text_claim(document, "authorization_endpoint");
  provider.token_url = text_claim(document, "token_endpoint");
  provider.user_info_url = text_claim(document, "userinfo_endpoint");
  provider.key_set_url = text_claim(document, "jwks_uri");
  provider.posts_secret = only_posts(document);
  if (provider.issuer != wanted_issuer) {
    const auto url = parse_url(wanted_issuer);
    return Error{
        Errc::unavailable,
        fmt::format("oidc: issuer did not match the issuer returned by provider, expected "
                    "\"{}\" got \"{}\"",
                    url ? location_of(*url) : std::string{wanted_issuer}, provider.issuer)};
  }
  return provider;
}

}  // namespace nomad::access
