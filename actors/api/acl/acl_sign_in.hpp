// What all ways to sign in share: the method that is meant, and the token that its rules make of
// claims which were verified.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/api/acl/acl_token.hpp"
#include "actors/api/acl/login_providers.hpp"
#include "runtime/cluster/acl/login_commands.hpp"

namespace nomad::api {

struct SignInParts {
  AclParts acl;
  std::shared_ptr<LoginProviders> providers;
};

using MethodRef = Object<schema::AclAuthMethod>;

using SignInHandler = Outcome (*)(Call&, const SignInParts&);

/// An operation of signing in: refused where access control is off, or nobody can seal a token.
template <SignInHandler run>
Outcome if_signing_in(Call& call, const SignInParts& parts) {
  if (!parts.acl.options.enabled) return bad_request("ACL support disabled");
  if (!parts.acl.keyring) return no_leader();
  return run(call, parts);
}

/// 400 with all that is missing: "invalid login request: 1 error occurred: …".
Result<> check_given(std::string_view request,
                     const std::vector<std::pair<std::string_view, std::string_view>>& given);

/// The method of that name and type.
Result<MethodRef> sign_in_method(const Call& call, std::string_view name, std::string_view type);

/// Whether the tokens of this method are of all regions, and made by another one, which the call
/// has been passed on to.
bool signs_in_elsewhere(Call& call, const MethodRef& method);

/// Makes the token, and answers with it.
Outcome write_login(Call& call,
                    const SignInParts& parts,
                    const MethodRef& method,
                    access::Claims claims);

/// The two requests of a login by OpenID Connect.
void add_acl_oidc_routes(Routes& routes, const SignInParts& parts);

}  // namespace nomad::api
