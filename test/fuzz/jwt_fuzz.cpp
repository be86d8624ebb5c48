// Tokens of strangers: nothing that was not signed counts, and what is taken apart goes together
// again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/access/login/claim_mapping.hpp"
#include "runtime/access/login/token_check.hpp"

namespace {

using namespace nomad::access;

constexpr std::string_view jwt_key
    = "-----BEGIN PUBLIC KEY-----\n"
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEVs/o5+uQbTjL3chynL4wXgUg2R9\n"
      "q9UU8I5mEovUf86QZ7kOBIjJwqnzD1omageEHWwHdBO6B+dFabmdT9POxg==\n"
      "-----END PUBLIC KEY-----\n";

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  static const auto key = read_pem_key(jwt_key);
  check(key.has_value());
  constexpr std::int64_t now = 1'700'000'000'000'000'000;
  const TokenRules rules{.algorithms = {"ES256", "RS256", "none", "HS256"}, .audiences = {"a"}};
  if (const auto jwt = parse_jwt(input)) {
    check(input.starts_with(jwt->signed_part));
    check(!jwt->algorithm.empty());
    check(!check_token(rules, {*key}, *jwt, now));
    static_cast<void>(check_claims(rules, jwt->claims, now).has_value());
  }
  if (const auto claims = read_claims(input)) {
    static_cast<void>(check_claims(rules, *claims, now).has_value());
    const auto mapped
        = map_claims(*claims, {{"a", "x"}, {"/a/0/b", "y"}}, {{"a", "x"}, {"/b", "y"}});
    if (mapped) check(mapped->values.size() <= 2);
    if (mapped) static_cast<void>(fill_bind_name(input, *mapped).has_value());
  }
  return 0;
}
