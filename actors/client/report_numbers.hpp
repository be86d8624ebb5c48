// ReportNumbers: the numbers of a node's reports on its allocations. Each is above all that the
// node gave before, in this and in earlier processes, so that servers can tell which of two reports
// is the newer, whatever the order in which they are applied.
//
// A number is the process's incarnation (high 32 bits), of which a restarted agent takes the next,
// and a counter. An agent that has lost its local state begins with small numbers; it hears from
// the servers what they have, before it reports anything, and goes on above that.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace nomad::client {

/// Safe for several threads.
class ReportNumbers {
public:
  /// `incarnation` has been used by no process of this node before, as far as it knows.
  explicit ReportNumbers(std::uint64_t incarnation) : last_{incarnation << counter_bits} {}

  std::uint64_t next() { return ++last_; }

  /// The servers have a report with this number. If none of ours can have it, ours go on above it:
  /// returns the incarnation that this process has from now on, which is to be saved.
  std::optional<std::uint64_t> heard(std::uint64_t number) {
    const auto above = (number >> counter_bits) + 1;
    if (above >> counter_bits != 0) return std::nullopt;  // No number is above it.
    for (auto last = last_.load(); last < number;)
      if (last_.compare_exchange_weak(last, above << counter_bits)) return above;
    return std::nullopt;
  }

private:
  static constexpr unsigned counter_bits = 32;

  std::atomic<std::uint64_t> last_;
};

}  // namespace nomad::client
