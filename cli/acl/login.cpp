// login: credentials of another issuer, or a login at an OpenID provider, for a token.
#include <iostream>

#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <sodium/randombytes.h>

#include "cli/acl/acl_view.hpp"
#include "cli/acl/login_callback.hpp"
#include "cli/browser.hpp"
#include "cli/context/contexts.hpp"
#include "cli/input.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

struct Method {
  std::string name;
  std::string type;
};

/// The auth method of that name, or the default one.
Result<Method> find_method(Api& api, const std::string& name) {
  const auto methods
      = NOMAD_TRY(api.get("/v1/acl/auth-methods").within("Error listing ACL auth methods"));
  for (const auto& one : methods.view().items())
    if (name.empty() ? one["Default"].truth() : one["Name"].text() == name)
      return Method{one["Name"].text(), one["Type"].text()};
  if (name.empty()) return mistake("Must specify an auth method name, no default found");
  return mistake(fmt::format("Error: method {} not found in the state store. ", name));
}

/// A token of another issuer, which -login-token gives or names a place of.
Result<std::string> read_login_token(const std::string& given) {
  constexpr std::size_t most = 1 << 20;
  if (given != "-" && !given.starts_with('@')) return given;
  const auto text = NOMAD_TRY(
      read_input(given == "-" ? given : given.substr(1), most).within("Error reading login token"));
  return std::string{trim(text)};
}

std::string make_nonce() {
  std::string bytes(20, '\0');
  randombytes_buf(bytes.data(), bytes.size());
  return to_hex(bytes);
}

Result<Answer> log_in_by_jwt(Api& api, const Method& method, const std::string& token) {
  return api.put("/v1/acl/login",
                 boost::json::object{{"AuthMethodName", method.name}, {"LoginToken", token}});
}

Result<Answer> log_in_by_oidc(Api& api, const Method& method, const std::string& address) {
  auto callback = NOMAD_TRY(LoginCallback::listen(address));
  boost::json::object request{{"AuthMethodName", method.name},
                              {"RedirectURI", callback.redirect_uri()},
                              {"ClientNonce", make_nonce()}};
  const auto answer = NOMAD_TRY(api.put("/v1/acl/oidc/auth-url", request));
  const auto url = answer.view()["AuthURL"].text();
  callback.expect(NOMAD_TRY(state_of_url(url)));
  // That a browser was started does not say that anybody sees it.
  std::cerr << (open_browser(url) ? "The browser is asked to show the provider. If it does not, "
                                    "visit:\n\n"
                                  : "Automatic opening of the OIDC provider for login has failed. "
                                    "To complete the authentication, please visit your provider "
                                    "using the URL below:\n\n")
            << url << "\n\n"
            << std::flush;
  const auto code = NOMAD_TRY(callback.wait());
  request["State"] = code.state;
  request["Code"] = code.code;
  return api.put("/v1/acl/oidc/complete-auth", request);
}

}  // namespace

Result<int> run_login(const std::vector<std::string>& arguments) {
  ApiCommand command{"login [options]",
                     "Gets a token by an auth method: for the token of another "
                     "issuer, or by logging in at a provider in the browser."};
  auto& name = command.option("method", "The auth method; without, the default one.");
  auto& type = command.option("type", "Has no effect any more.");
  auto& login_token = command.option(
      "login-token",
      "The other issuer's token, for methods of the type JWT. @path: that of a file, -: that of "
      "stdin; then it does not show in the list of processes.");
  auto& address = command.option("oidc-callback-addr", "Where the browser is to come back to.",
                                 "localhost:4649");
  OutputFlags output{command};
  if (auto code = command.start(arguments)) return *code;
  NOMAD_TRY(one_format(output));
  if (!type.empty())
    std::cerr << "warning: '-type' flag has been deprecated for nomad login command and will be "
                 "ignored.\n";
  auto& api = *command.api;
  const auto method = NOMAD_TRY(find_method(api, name));
  const bool is_oidc = method.type == "OIDC";
  if (!is_oidc && login_token.empty()) return mistake("You need to provide a login token.");
  if (!is_oidc && method.type != "JWT")
    return mistake(fmt::format("Unsupported authentication type {}", quote(method.type)));
  const auto token
      = NOMAD_TRY((is_oidc ? log_in_by_oidc(api, method, address)
                           : log_in_by_jwt(api, method, NOMAD_TRY(read_login_token(login_token))))
                      .within("Error performing login"));
  if (const auto& context = command.common.context; !context.empty()) {
    NOMAD_TRY(save_token(context, token.view()["SecretID"].text()));
    std::cerr << fmt::format("Commands with the context {} have the token from now on.\n",
                             quote(context));
  }
  if (!output.requested())
    std::cout << fmt::format("Successfully logged in via {} and {}\n\n", method.type, method.name);
  return show_made(output, token.body, token_layout);
}

}  // namespace nomad::cli
