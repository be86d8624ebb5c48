#include "runtime/identity/signature_cache.hpp"

#include <utility>

#include <sodium.h>

namespace nomad::identity {
namespace {

/// Key and algorithm are in what is signed.
std::string digest_of(std::string_view signed_part) {
  std::string digest(crypto_generichash_BYTES, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(digest.data()), digest.size(),
                     reinterpret_cast<const unsigned char*>(signed_part.data()), signed_part.size(),
                     nullptr, 0);
  return digest;
}

}  // namespace

const std::string* SignatureCache::find(std::string_view signed_part) {
  auto digest = digest_of(signed_part);
  if (const auto found = newer_.find(digest); found != newer_.end()) return &found->second;
  const auto found = older_.find(digest);
  if (found == older_.end()) return nullptr;
  return put(std::move(digest), std::move(older_.extract(found).mapped()));
}

void SignatureCache::keep(std::string_view signed_part, std::string signature) {
  put(digest_of(signed_part), std::move(signature));
}

const std::string* SignatureCache::put(std::string digest, std::string signature) {
  if (newer_.size() >= capacity_) older_ = std::exchange(newer_, {});
  return &newer_.insert_or_assign(std::move(digest), std::move(signature)).first->second;
}

}  // namespace nomad::identity
