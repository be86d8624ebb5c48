#include "runtime/access/login/jwt.hpp"

#include <algorithm>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"

namespace nomad::access {

namespace {

Error malformed_jwt(std::string_view why) {
  return {Errc::invalid_argument, "the token is no signed JWT: " + std::string{why}};
}

}  // namespace

Result<std::string> decode_jwt_part(std::string_view text) {
  const bool fits = std::all_of(text.begin(), text.end(),
                                [](char c) { return is_alphanumeric(c) || c == '-' || c == '_'; });
  if (!fits || text.size() % 4 == 1) return malformed_jwt("illegal base64");
  auto padded = std::string{text};
  padded.append((4 - text.size() % 4) % 4, '=');
  auto bytes = NOMAD_TRY(decode_base64_url(padded));
  if (encode_base64_url(bytes) != padded) return malformed_jwt("illegal base64");
  return bytes;
}

std::string encode_jwt_part(std::string_view bytes) {
  auto text = encode_base64_url(bytes);
  text.erase(text.find_last_not_of('=') + 1);
  return text;
}

Result<Jwt> parse_jwt(std::string_view token) {
  if (token.size() > longest_jwt) return Error{Errc::too_large, "the token is too long"};
  const auto first = token.find('.');
  const auto second = first == token.npos ? first : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos)
    return malformed_jwt("it must have three parts");
  if (first > longest_jwt_header) return Error{Errc::too_large, "the token's header is too long"};
  const auto header
      = NOMAD_TRY(read_claims(NOMAD_TRY(decode_jwt_part(token.substr(0, first)))).within("header"));
  Jwt jwt;
  jwt.algorithm = text_claim(header, "alg");
  jwt.key_id = text_claim(header, "kid");
  if (jwt.algorithm.empty()) return malformed_jwt("its header names no algorithm");
  // An extension that must be understood: none is.
  if (header.contains("crit") || header.contains("b64"))
    return malformed_jwt("its header has extensions");
  jwt.claims = NOMAD_TRY(
      read_claims(NOMAD_TRY(decode_jwt_part(token.substr(first + 1, second - first - 1))))
          .within("claims"));
  jwt.signed_part = token.substr(0, second);
  jwt.signature = NOMAD_TRY(decode_jwt_part(token.substr(second + 1)));
  return jwt;
}

}  // namespace nomad::access
