#include "runtime/access/migrate_token.hpp"

#include <algorithm>
#include <array>

#include <sodium.h>

#include "runtime/base/base64.hpp"

namespace nomad::access {

namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string migrate_token(std::string_view alloc_id, std::string_view node_secret) {
  if (node_secret.empty() || node_secret.size() > crypto_generichash_blake2b_KEYBYTES_MAX)
    return {};
  std::array<char, crypto_generichash_blake2b_BYTES_MAX> digest{};
  crypto_generichash_blake2b(reinterpret_cast<unsigned char*>(digest.data()), digest.size(),
                             bytes_of(alloc_id), alloc_id.size(), bytes_of(node_secret),
                             node_secret.size());
  return encode_base64_url({digest.data(), digest.size()});
}

bool is_migrate_token(std::string_view token,
                      std::string_view alloc_id,
                      std::string_view node_secret) {
  const auto right = migrate_token(alloc_id, node_secret);
  return !right.empty() && token.size() == right.size()
         && sodium_memcmp(token.data(), right.data(), right.size()) == 0;
}

}  // namespace nomad::access
