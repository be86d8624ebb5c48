// Jwt: a signed token as it came, taken apart (RFC 7515, compact form) and not yet believed. What
// is encoded in two ways is refused: padding, other alphabets, bits left over.
//
// May depend on: runtime/base, runtime/text. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "runtime/access/login/claims.hpp"

namespace nomad::access {

inline constexpr std::size_t longest_jwt = 64 * 1024;
inline constexpr std::size_t longest_jwt_header = 8 * 1024;

struct Jwt {
  std::string algorithm;  ///< As the header says; checked by whoever verifies.
  std::string key_id;     ///< "" without one.
  Claims claims;
  std::string signed_part;  ///< Header and claims as they were signed.
  std::string signature;
};

Result<Jwt> parse_jwt(std::string_view token);

/// Whether a token has the shape of one that is signed, which no secret of ours has.
inline bool is_signed_token(std::string_view token) {
  return std::count(token.begin(), token.end(), '.') == 2;
}

/// Base64 of the alphabet for URLs, without padding.
Result<std::string> decode_jwt_part(std::string_view text);
std::string encode_jwt_part(std::string_view bytes);

}  // namespace nomad::access
