// Numbers as they stand in the bytes between nodes: the lowest byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace nomad::net {

template <class Number>
void append_little_endian(std::string& out, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
}

/// The number at `offset`; `bytes` holds it whole.
template <class Number>
Number little_endian_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    value |= std::to_integer<std::uint64_t>(bytes[offset + i]) << (8 * i);
  return static_cast<Number>(value);
}

}  // namespace nomad::net
