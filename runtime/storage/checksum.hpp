// Checksums of stored values: XXH3, 64 bits. SQLite does not checksum its pages, so each blob that
// is trusted after a restart carries one of these beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace nomad::storage {

/// `seed` binds the value to its location (what it is and which row), so that a value found under
/// another key fails its check.
std::uint64_t checksum(std::span<const std::byte> value, std::uint64_t seed = 0);
std::uint64_t checksum(std::string_view value, std::uint64_t seed = 0);

/// Mixes numbers into a seed, in order.
std::uint64_t mix(std::uint64_t seed, std::uint64_t number);

}  // namespace nomad::storage
