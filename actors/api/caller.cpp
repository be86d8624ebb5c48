#include "actors/api/caller.hpp"

namespace nomad::api {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

Caller caller_of(const net::Request& request) {
  Caller caller;
  caller.remote = request.remote;
  caller.token = trimmed(request.header("X-Nomad-Token"));
  if (!caller.token.empty()) return caller;
  const auto authorization = trimmed(request.header("Authorization"));
  const auto space = authorization.find(' ');
  if (space == std::string_view::npos) return caller;
  const auto token = trimmed(authorization.substr(space));
  if (net::same_header(authorization.substr(0, space), "Bearer")
      && token.find(' ') == std::string_view::npos)
    caller.token = token;
  return caller;
}

Result<> authorize(const Caller&, Capability, std::string_view) {
  return {};
}

}  // namespace nomad::api
