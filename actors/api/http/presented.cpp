#include "actors/api/http/presented.hpp"

namespace nomad::api {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// "" when there is none.
std::string_view token_of(const net::Request& request) {
  const auto token = trimmed(request.header("X-Nomad-Token"));
  if (!token.empty()) return token;
  const auto authorization = trimmed(request.header("Authorization"));
  const auto space = authorization.find(' ');
  if (space == std::string_view::npos) return {};
  const auto bearer = trimmed(authorization.substr(space));
  const bool is_bearer = net::same_header(authorization.substr(0, space), "Bearer");
  return is_bearer ? bearer.substr(0, bearer.find(' ')) : std::string_view{};
}

}  // namespace

access::Presented presented_by(const net::Request& request) {
  return {.remote = request.remote,
          .credentials = {.token = std::string{token_of(request)}, .limits = request.limits},
          .needs_token = request.needs_token};
}

access::Principal sender_of(const net::Request& request, const access::Authenticator& by) {
  return request.who ? *request.who : by.identify(presented_by(request));
}

}  // namespace nomad::api
