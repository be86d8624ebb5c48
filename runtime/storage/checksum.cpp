#include "runtime/storage/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nomad::storage {

std::uint64_t checksum(std::span<const std::byte> value, std::uint64_t seed) {
  return XXH3_64bits_withSeed(value.data(), value.size(), seed);
}

std::uint64_t checksum(std::string_view value, std::uint64_t seed) {
  return XXH3_64bits_withSeed(value.data(), value.size(), seed);
}

std::uint64_t mix(std::uint64_t seed, std::uint64_t number) {
  return XXH3_64bits_withSeed(&number, sizeof number, seed);
}

}  // namespace nomad::storage
