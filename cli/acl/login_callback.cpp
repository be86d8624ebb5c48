#include "cli/acl/login_callback.hpp"

#include <algorithm>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/net/http/responder.hpp"
#include "runtime/net/http/url.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view callback_path = "/oidc/callback";

net::Response page(unsigned status, std::string_view text) {
  net::Response response;
  response.status = status;
  response.content_type = "text/html; charset=utf-8";
  // The page's address has the code in it, which goes to nobody else.
  response.headers = {{"Referrer-Policy", "no-referrer"}, {"Cache-Control", "no-store"}};
  response.body = fmt::format(
      "<!doctype html><meta charset=\"utf-8\"><title>nomadctl login</title><p>{}</p>\n", text);
  return response;
}

}  // namespace

struct LoginCallback::Shared {
  std::mutex guard;  ///< Of what the listener's thread reads.
  std::string state;
  std::optional<std::promise<Result<LoginCode>>> answer{std::in_place};

  net::Response take(const net::Request& request) {
    const std::lock_guard lock{guard};
    auto code = answer_of(request, state);
    if (!code && code.error().code == Errc::rejected) return page(400, code.error().what);
    if (!answer) return page(400, "This login has been answered already.");
    const bool is_done = code.has_value();
    answer->set_value(std::move(code));
    answer.reset();
    return is_done ? page(200,
                          "You are logged in at the provider. The terminal goes on from here; "
                          "this page can be closed.")
                   : page(200, "The provider has refused the login; the terminal says why.");
  }
};

Result<std::string> state_of_url(const std::string& url) {
  const bool is_of_web = url.starts_with("https://") || url.starts_with("http://");
  const bool is_clean
      = std::ranges::all_of(url, [](unsigned char c) { return c > ' ' && c != 0x7f; });
  if (!is_of_web || !is_clean)
    return Error{Errc::rejected, fmt::format("the server names no URL of a provider: {}",
                                             quote(url.substr(0, 200)))};
  const auto question = url.find('?');
  const auto query = question == std::string::npos ? "" : url.substr(question + 1);
  net::QueryParameters parameters;
  net::parse_query(query, parameters);
  for (const auto& [name, value] : parameters)
    if (name == "state" && !value.empty()) return value;
  return Error{Errc::rejected, "the provider's URL has no state, by which to know its answer"};
}

Result<LoginCode> answer_of(const net::Request& request, std::string_view state) {
  const auto stranger = [](std::string_view why) {
    return Error{Errc::rejected, std::string{why}};
  };
  if (request.method != "GET" || request.path != callback_path)
    return stranger("Nothing but the answer of a provider is taken here.");
  if (state.empty() || request.parameter_or_empty("state") != state)
    return stranger("This is no answer to the login that waits here.");
  if (const auto refused = request.parameter_or_empty("error"); !refused.empty()) {
    const auto why = request.parameter_or_empty("error_description");
    return Error{Errc::cancelled, fmt::format("the provider refused: {}{}{}", refused,
                                              why.empty() ? "" : ": ", why)};
  }
  const auto code = request.parameter_or_empty("code");
  if (code.empty()) return stranger("The answer has no code.");
  return LoginCode{std::string{code}, std::string{state}};
}

LoginCallback::LoginCallback(std::shared_ptr<Shared> shared,
                             net::HttpServer server,
                             std::string redirect_uri)
    : shared_{std::move(shared)},
      answer_{shared_->answer->get_future()},
      server_{std::move(server)},
      redirect_uri_{std::move(redirect_uri)} {}

Result<LoginCallback> LoginCallback::listen(const std::string& address) {
  auto shared = std::make_shared<Shared>();
  net::HttpRouter router;
  router.handle_rest(
      [shared](net::Responder responder) { responder.send(shared->take(responder.request())); });
  net::ServerOptions options;
  options.listen = {address};
  auto server = NOMAD_TRY(net::HttpServer::start(std::move(options), std::move(router)));
  const auto& bound = server.addresses().front();
  const auto host = address.substr(0, address.rfind(':'));
  const auto port = bound.substr(bound.rfind(':'));
  auto redirect_uri = fmt::format("http://{}{}{}", host, port, callback_path);
  return LoginCallback{std::move(shared), std::move(server), std::move(redirect_uri)};
}

void LoginCallback::expect(std::string state) {
  const std::lock_guard lock{shared_->guard};
  shared_->state = std::move(state);
}

Result<LoginCode> LoginCallback::wait() {
  return answer_.get();
}

}  // namespace nomad::cli
