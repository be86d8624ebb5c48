#include "runtime/artifact/rules/redirect_policy.hpp"

#include <string>

namespace nomad::artifact {

Result<> RedirectPolicy::follow(int status, std::string_view location) {
  const auto from = here_.shown();
  if (++followed_ > most)
    return Error{Errc::rejected,
                 "stopped after " + std::to_string(most) + " redirects, the last at " + from};
  if (location.empty())
    return Error{Errc::rejected,
                 std::to_string(status) + " response of " + from + " has no Location"};
  auto next = resolve_url(here_, location);
  if (!next) return Error{Errc::rejected, from + " redirects badly: " + next.error().what};
  if (next->scheme != "http" && next->scheme != "https")
    return Error{Errc::rejected,
                 from + " redirects to the scheme '" + next->scheme + "', which is not followed"};
  if (next->host.empty())
    return Error{Errc::rejected, from + " redirects to an address without a host"};
  if (!same_origin(here_, *next)) {
    carries_secrets_ = false;
  } else if (next->userinfo.empty()) {
    next->userinfo = here_.userinfo;
  }
  // A server does not choose whom we say we are.
  if (!carries_secrets_) next->userinfo.clear();
  next->fragment.clear();
  here_ = std::move(*next);
  return {};
}

}  // namespace nomad::artifact
