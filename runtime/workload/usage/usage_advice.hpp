// What to reserve instead, where what a task uses is far from what is reserved for it. Pure.
//
// A day's use at most is looked at, and an hour's at least: before that nothing is said. The
// suggestion is a fifth more than what 95 of 100 slots stay below (UsageHistory::p95), rounded up
// to two digits or so.
//   - Too much: the use stays below half of it, and the suggestion saves 64 MiB of memory or
//     100 MHz of processor time at least.
//   - Too little: memory is used to nine tenths, from where the task will soon be killed; or more
//     processor time is used than is reserved, which a busy node does not give.
// A task with processors of its own (`cores`) has no share of others to be told of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/workload/usage/usage_history.hpp"

namespace nomad::workload {

/// For a task; 0: nothing that could be compared.
struct Reservation {
  std::uint64_t cpu_mhz = 0;
  std::uint64_t memory_mib = 0;
};

struct UsageAdvice {
  std::string_view resource{};  ///< "memory" or "cpu"
  std::string_view unit{};      ///< "MiB" or "MHz", of the three:
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;  ///< The percentile.
  std::uint64_t suggested = 0;
  Nanoseconds over{0};  ///< How much time was looked at.

  /// "memory 300 MiB reserved, p95 41 MiB over 6 h: reserve about 50"
  std::string text() const;
};

/// At most one of each resource, memory first; nothing where all is well or too little is known.
std::vector<UsageAdvice> advise(const UsagePercentile& used, const Reservation& reserved);

}  // namespace nomad::workload
