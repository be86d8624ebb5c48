#include "runtime/access/secret_hash.hpp"

#include <sodium.h>

#include "runtime/base/text.hpp"

namespace nomad::access {

std::string secret_hash(std::string_view secret) {
  std::string lower = to_lower(secret);
  std::string hash(32, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(lower.data()), lower.size(), nullptr,
                     0);
  sodium_memzero(lower.data(), lower.size());
  return hash;
}

}  // namespace nomad::access
