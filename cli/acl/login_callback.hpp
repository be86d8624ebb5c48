// LoginCallback: where a browser comes back to after its user has logged in at an OpenID provider:
// a listener on this machine, for one login.
//
// Any program here, and any page in the browser, can send requests to it. So it takes those with
// the state of this login alone, as `answers` decides; the others are turned away and the wait
// goes on.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/net/http/http_server.hpp"

namespace nomad::cli {

/// What the browser brought: the code that the servers change for a token.
struct LoginCode {
  std::string code;
  std::string state;
};

/// The `state` in the URL at which the provider is asked. An error if the URL is nothing that a
/// browser should be sent to, or has none.
Result<std::string> state_of_url(const std::string& url);

/// Whether a request is the answer to the login with that state: its code; `cancelled` if
/// the provider refused, with its words; `rejected` if it belongs to no login of ours.
Result<LoginCode> answer_of(const net::Request& request, std::string_view state);

class LoginCallback {
public:
  /// Listens at "host:port"; port 0 takes a free one.
  static Result<LoginCallback> listen(const std::string& address);

  /// Where the provider is to send the browser: "http://localhost:4649/oidc/callback".
  const std::string& redirect_uri() const { return redirect_uri_; }

  /// From now on answers for the login with this state count.
  void expect(std::string state);

  /// Waits for one, as long as it takes. Once.
  Result<LoginCode> wait();

private:
  struct Shared;

  LoginCallback(std::shared_ptr<Shared> shared, net::HttpServer server, std::string redirect_uri);

  std::shared_ptr<Shared> shared_;
  std::future<Result<LoginCode>> answer_;
  net::HttpServer server_;
  std::string redirect_uri_;
};

}  // namespace nomad::cli
