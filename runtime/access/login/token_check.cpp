#include "runtime/access/login/token_check.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

namespace nomad::access {

namespace {

constexpr std::string_view unverified = "unable to verify signature of JWT token";
constexpr double default_leeway = 150;
constexpr double default_skew = 60;

Error unfit(std::string what) {
  return {Errc::permission_denied, std::move(what)};
}

/// Seconds of a rule: 0 is the default, less is none.
double seconds_of(Nanoseconds rule, double if_zero) {
  if (rule.count() == 0) return if_zero;
  return std::max(0.0, std::chrono::duration<double>{rule}.count());
}

/// Seconds since 1970; 0 without one.
Result<double> time_claim(const Claims& claims, std::string_view name) {
  const auto* found = claims.if_contains({name.data(), name.size()});
  if (found == nullptr || found->is_null()) return 0.0;
  if (!found->is_number()) return unfit(fmt::format("the claim {} is no time", name));
  const auto value = found->to_number<double>();
  if (!std::isfinite(value)) return unfit(fmt::format("the claim {} is no time", name));
  return value;
}

Result<> check_times(const TokenRules& rules, const Claims& claims, std::int64_t now) {
  const auto issued = NOMAD_TRY(time_claim(claims, "iat"));
  auto begin = NOMAD_TRY(time_claim(claims, "nbf"));
  auto end = NOMAD_TRY(time_claim(claims, "exp"));
  if (issued == 0 && begin == 0 && end == 0)
    return unfit("no issued at (iat), not before (nbf), or expiration time (exp) claims in token");
  if (end == 0) end = std::max(issued, begin) + seconds_of(rules.expiration_leeway, default_leeway);
  if (begin == 0)
    begin = issued != 0 ? issued : end - seconds_of(rules.not_before_leeway, default_leeway);
  const double skew = seconds_of(rules.clock_skew, default_skew);
  const double at = static_cast<double>(now) / 1e9;
  if (at > end + skew) return unfit("invalid expiration time (exp) claim: token is expired");
  if (at + skew < begin) return unfit("invalid not before (nbf) claim: token not yet valid");
  if (at + skew < issued) return unfit("invalid issued at (iat) claim: token issued in the future");
  return {};
}

bool is_one_of(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

std::vector<std::string> audiences_of(const Claims& claims) {
  std::vector<std::string> audiences;
  const auto* found = claims.if_contains("aud");
  if (found != nullptr && found->is_string()) audiences.emplace_back(found->as_string());
  if (found == nullptr || !found->is_array()) return audiences;
  for (const auto& one : found->as_array())
    if (one.is_string()) audiences.emplace_back(one.as_string());
  return audiences;
}

Result<> check_claims(const TokenRules& rules, const Claims& claims, std::int64_t now) {
  const auto audiences = audiences_of(claims);
  if (!rules.audiences.empty()
      && std::none_of(audiences.begin(), audiences.end(),
                      [&rules](const std::string& one) { return is_one_of(rules.audiences, one); }))
    return unfit(
        "invalid audience (aud) claim: audience claim does not match any expected audience");
  return check_times(rules, claims, now);
}

Result<> check_algorithm(const TokenRules& rules, const Jwt& jwt) {
  const bool may_sign = rules.algorithms.empty() ? jwt.algorithm == "RS256"
                                                 : is_one_of(rules.algorithms, jwt.algorithm);
  if (may_sign && is_signing_algorithm(jwt.algorithm)) return {};
  return unfit(fmt::format(
      "{}: invalid algorithm (alg) header parameter: token signed with unexpected algorithm",
      unverified));
}

Result<> check_token(const TokenRules& rules,
                     const PublicKeys& keys,
                     const Jwt& jwt,
                     std::int64_t now) {
  if (!is_signed_by(keys, jwt))
    return unfit(
        fmt::format("{}: error verifying token signature: no known key successfully "
                    "validated the token signature",
                    unverified));
  NOMAD_TRY(check_algorithm(rules, jwt));
  NOMAD_TRY(check_claims(rules, jwt.claims, now).within(unverified));
  if (rules.issuers.empty()) return {};
  const auto issuer = text_claim(jwt.claims, "iss");
  if (!jwt.claims.contains("iss"))
    return unfit(
        "auth method specifies BoundIssuers but the provided token does not contain issuer "
        "information");
  if (!is_one_of(rules.issuers, issuer))
    return unfit(fmt::format("invalid JWT issuer: {}", issuer));
  return {};
}

}  // namespace nomad::access
