// Whoever asks in tests. Even they have a principal of an Authenticator alone: one that lets
// everybody do everything, or one whose look-up is the test's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/access/authenticator.hpp"

namespace nomad::test {

/// Everything is allowed to everyone.
inline std::shared_ptr<access::Authenticator> open_to_all() {
  return access::Authenticator::make({.enforces = false});
}

/// Gives each token, and "", the rights that `rights_of` says.
inline std::shared_ptr<access::Authenticator> giving(
    std::function<Result<access::RightsRef>(std::string_view token)> rights_of) {
  return access::Authenticator::make(
      {.lookup = {.here = [rights_of = std::move(rights_of)](
                              std::string_view token) -> std::optional<Result<access::Grant>> {
         auto rights = rights_of(token);
         if (!rights) return rights.error();
         return access::Grant{.rights = std::move(*rights)};
       }}});
}

/// Lets everybody do everything while `index` is 1; with the next one no token is one any more.
inline std::shared_ptr<access::Authenticator> until_revoked(
    const std::shared_ptr<std::atomic<std::uint64_t>>& index) {
  return access::Authenticator::make(
      {.lookup = {.index = [index] { return index->load(); },
                  .here = [index](std::string_view) -> std::optional<Result<access::Grant>> {
                    if (*index > 1) return access::permission_denied();
                    return access::Grant{.rights = access::Rights::everything(), .index = 1};
                  }}});
}

/// Gives everyone what the rule allows.
inline std::shared_ptr<access::Authenticator> allowing(access::Rights::Rule rule) {
  return giving([rights = access::Rights::by(std::move(rule))](std::string_view) {
    return Result<access::RightsRef>{rights};
  });
}

inline access::Principal who_shows(const std::string& token, access::Authenticator& to) {
  return to.at_once(to.identify({.credentials = {.token = token}}))->value();
}

inline access::Principal anybody_at(const std::string& remote = {}) {
  const auto open = open_to_all();
  return open->at_once(open->identify({.remote = remote}))->value();
}

/// Asks, without a token, and may do what the rule allows.
inline access::Principal somebody(access::Rights::Rule rule) {
  return who_shows("", *allowing(std::move(rule)));
}

inline access::Asking anybody(access::Capability needed = access::Capability::none) {
  return {anybody_at(), needed};
}

}  // namespace nomad::test
