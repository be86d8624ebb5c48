// Ports: sets of the 65,536 ports of one address, and the choice of free ones.
//
// May depend on: runtime/base.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/base/result.hpp"

namespace nomad::scheduler {

using Port = std::uint16_t;

/// A set as a bitmap: a value of 8 KiB.
class PortSet {
public:
  bool contains(Port port) const { return (words_[port / 64] >> (port % 64) & 1) != 0; }

  void insert(Port port) { words_[port / 64] |= std::uint64_t{1} << (port % 64); }

  /// Ports [64 * index, 64 * index + 63], the lowest in the lowest bit.
  std::uint64_t word(unsigned index) const { return words_[index]; }

private:
  std::array<std::uint64_t, 1024> words_{};
};

/// The lowest port in [from, last] that is not in the set whose words `word(index)` gives.
template <class Words>
std::optional<Port> first_free_port(const Words& word, unsigned from, unsigned last) {
  while (from <= last) {
    const std::uint64_t free = ~word(from / 64) >> (from % 64);
    if (free == 0) {
      from = (from / 64 + 1) * 64;
      continue;
    }
    const auto port = from + static_cast<unsigned>(std::countr_zero(free));
    if (port > last) return std::nullopt;
    return static_cast<Port>(port);
  }
  return std::nullopt;
}

/// A port of [first, last] that is neither in the set nor in `also_used`, drawn at random while
/// most are free: a few draws, then a scan by words from a random place. Nothing if none is left.
template <class Words>
std::optional<Port> pick_free_port(
    const Words& word, Port first, Port last, const std::vector<Port>& also_used, Random& random) {
  constexpr int draws = 20;
  if (first > last) return std::nullopt;
  const std::uint64_t width = std::uint64_t{last} - first + 1;
  const auto is_taken_now
      = [&](Port port) { return std::ranges::find(also_used, port) != also_used.end(); };
  for (int draw = 0; draw < draws; ++draw) {
    const auto port = static_cast<Port>(first + random.below(width));
    if ((word(port / 64u) >> (port % 64u) & 1) == 0 && !is_taken_now(port)) return port;
  }
  const auto scan = [&](unsigned from, unsigned end) -> std::optional<Port> {
    while (const auto port = first_free_port(word, from, end)) {
      if (!is_taken_now(*port)) return port;
      from = *port + 1u;
    }
    return std::nullopt;
  };
  const auto start = static_cast<unsigned>(first + random.below(width));
  if (const auto port = scan(start, last)) return port;
  return start == first ? std::nullopt : scan(first, start - 1);
}

/// "22,80,8000-8100" as agents write reserved ports. Sorted, without repetition.
Result<std::vector<Port>> parse_port_ranges(std::string_view text);

}  // namespace nomad::scheduler
