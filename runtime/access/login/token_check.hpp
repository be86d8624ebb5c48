// Whether a token that somebody has signed counts for a method: by whom, with which algorithm, for
// whom and when. What is missing in a rule is the strictest that Nomad knows: RS256 alone, a minute
// of clock skew. The texts of errors about claims are those of Nomad's library.
//
// May depend on: runtime/base, runtime/text. Pure; the time is an argument.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/access/login/public_key.hpp"
#include "runtime/base/duration.hpp"

namespace nomad::access {

struct TokenRules {
  std::vector<std::string> algorithms = {};  ///< Empty: RS256.
  std::vector<std::string> audiences = {};   ///< One of them; empty: any.
  std::vector<std::string> issuers = {};     ///< One of them; empty: any.
  Nanoseconds expiration_leeway{0};  ///< Of a token without an end; 0: 150 s, negative: none.
  Nanoseconds not_before_leeway{0};  ///< Of one without a beginning; the same.
  Nanoseconds clock_skew{0};         ///< 0: 60 s, negative: none.
};

/// Whether `keys` have signed it, and it counts at `now` (Unix nanoseconds).
Result<> check_token(const TokenRules& rules,
                     const PublicKeys& keys,
                     const Jwt& jwt,
                     std::int64_t now);

/// Whether the method takes what the token says that it is signed with.
Result<> check_algorithm(const TokenRules& rules, const Jwt& jwt);

/// The same as `check_token` without its issuer and signature.
Result<> check_claims(const TokenRules& rules, const Claims& claims, std::int64_t now);

/// The audiences that it is for.
std::vector<std::string> audiences_of(const Claims& claims);

}  // namespace nomad::access
