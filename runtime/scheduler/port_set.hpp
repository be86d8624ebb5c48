// PortSet: which of the 65,536 ports of one address are used.
//
// May depend on: runtime/base. A value of 8 KiB.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/base/result.hpp"

namespace nomad::scheduler {

using Port = std::uint16_t;

class PortSet {
public:
  bool contains(Port port) const { return (words_[port / 64] >> (port % 64) & 1) != 0; }

  /// Returns whether the port was free.
  bool insert(Port port) {
    const bool was_free = !contains(port);
    words_[port / 64] |= std::uint64_t{1} << (port % 64);
    return was_free;
  }

  void erase(Port port) { words_[port / 64] &= ~(std::uint64_t{1} << (port % 64)); }

  /// A port of [first, last] that is neither in this set nor in `also_used`, drawn at random while
  /// most are free: a few draws, then a scan by words from a random place. Nothing if none is left.
  std::optional<Port> pick_free(Port first,
                                Port last,
                                const std::vector<Port>& also_used,
                                Random& random) const;

private:
  std::optional<Port> first_free(unsigned from, unsigned last) const;

  std::array<std::uint64_t, 1024> words_{};
};

/// "22,80,8000-8100" as agents write reserved ports. Sorted, without repetition.
Result<std::vector<Port>> parse_port_ranges(std::string_view text);

}  // namespace nomad::scheduler
