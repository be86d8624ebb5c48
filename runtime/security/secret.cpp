#include "runtime/security/secret.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include <sodium.h>

namespace nomad::security {
namespace {

/// Guarded memory costs four pages each: for keys.
constexpr std::size_t most_guarded_bytes = 64;

std::byte* take(std::size_t size) {
  if (size == 0) return nullptr;
  if (size > most_guarded_bytes) return static_cast<std::byte*>(std::calloc(size, 1));
  if (sodium_init() < 0) return nullptr;
  auto* data = static_cast<std::byte*>(sodium_malloc(size));
  if (data != nullptr) std::memset(data, 0, size);
  return data;
}

}  // namespace

Secret::Secret(std::size_t size) : data_{take(size)}, size_{size} {
  if (data_ == nullptr && size > 0) throw std::bad_alloc{};
}

Secret Secret::copy_of(std::span<const std::byte> bytes) {
  Secret copy{bytes.size()};
  if (!bytes.empty()) std::memcpy(copy.data_, bytes.data(), bytes.size());
  return copy;
}

Secret Secret::copy_of(std::string_view text) {
  return copy_of(std::as_bytes(std::span{text}));
}

Secret::~Secret() {
  if (data_ == nullptr) return;
  if (size_ <= most_guarded_bytes) {
    sodium_free(data_);  // wipes
    return;
  }
  sodium_memzero(data_, size_);
  std::free(data_);
}

bool Secret::equals(const Secret& other) const {
  return size_ == other.size_ && (size_ == 0 || sodium_memcmp(data_, other.data_, size_) == 0);
}

void wipe(std::string& text) {
  text.resize(text.capacity());
  if (!text.empty()) sodium_memzero(text.data(), text.size());
  text.clear();
}

}  // namespace nomad::security
