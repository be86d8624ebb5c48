// LoginProviders: what those who vouch for logins say of themselves, asked for over HTTP: the keys
// that they sign with (a JWKS URL, or the one that a discovery document names) and their addresses.
//
// A provider is a stranger: what it answers is bounded in time and size, it may redirect only by
// its own scheme (another origin is shown no headers), and each method asks once at a time, so that
// one that hangs costs its own logins alone. What was learned is kept for minutes by the method as
// it was; a token that names a key which is not among those asks anew, at most every ten seconds,
// whoever sends such. A failure is told for a second to all who ask, so that nobody makes servers
// ask back to back.
//
// Thread-safe. `done` is called on the client's thread, or at once; it must be quick.
// Tests: sign_in_test, oidc_sign_in_test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/access/login/provider.hpp"
#include "runtime/net/http/client/http_request.hpp"
#include "runtime/object/object.hpp"
#include "schema/acl.capnp.h"

namespace nomad::api {

using access::LoginProvider;

class LoginProviders {
public:
  using Found = Result<std::shared_ptr<const LoginProvider>>;
  using Method = Object<schema::AclAuthMethod>;

  /// One question to a provider.
  struct Question {
    std::string url;
    std::string ca_pem = {};  ///< Whom to trust; "": the system's.
    net::Headers headers = {};
    std::string form = {};  ///< What is posted; "": it is a GET.
  };

  LoginProviders();
  ~LoginProviders();

  /// The provider of a method. `key_id` is the key that a token names; "": any will do.
  void find(const Method& method, std::string_view key_id, std::function<void(Found)> done);

  /// The body of a success.
  void ask(Question question, std::function<void(Result<std::string>)> done);

  /// Nobody is told any more; before the last one lets go. Not on the client's thread.
  void stop();

private:
  class Core;
  std::shared_ptr<Core> core_;
};

/// Whom to trust for what a method asks of its discovery URL.
std::string discovery_ca(schema::AclAuthMethodConfig::Reader config);

}  // namespace nomad::api
