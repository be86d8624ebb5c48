// Key sets as strangers answer them, and keys as people write them: none verifies what it has not
// signed.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/access/login/public_key.hpp"

namespace {

using namespace nomad::access;

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  if (const auto keys = read_jwks(input)) {
    check(!keys->empty() && keys->size() <= most_public_keys);
    for (const auto* algorithm :
         {"RS256", "PS512", "ES256", "ES384", "ES512", "EdDSA", "none", "HS256"}) {
      Jwt jwt;
      jwt.algorithm = algorithm;
      jwt.signed_part = "signed";
      for (const std::size_t bytes : {0U, 64U, 96U, 132U, 256U}) {
        jwt.signature = std::string(bytes, '\x01');
        check(!is_signed_by(*keys, jwt));
      }
    }
  }
  static_cast<void>(read_pem_key(input).has_value());
  return 0;
}
