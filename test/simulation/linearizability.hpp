// Linearizability of one register: whether there is an order of the operations, each somewhere
// between its call and its answer, in which every answer is what a register alone would have said.
//
// The search is that of Wing & Gong with Lowe's memory of states that led nowhere. Every value but
// 0, which stands for an empty register, is written at most once, so that a write that nobody was
// answered about and nobody has seen can be left out.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace nomad::test {

struct RegisterOperation {
  enum class Kind : std::uint8_t { read, write, compare_and_set };

  static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();

  Kind kind = Kind::read;
  std::int64_t called = 0;
  std::int64_t answered = unknown;  ///< `unknown`: no answer; it may have happened, or may yet.
  std::uint64_t value = 0;          ///< Written; nobody else writes it. 0 empties the register.
  std::uint64_t expected = 0;       ///< By compare_and_set; 0: the register is empty.
  bool succeeded = true;            ///< compare_and_set: it found what it expected.
  std::uint64_t seen = 0;           ///< What a read, or a failed compare_and_set, has found.
};

/// Nothing when there is such an order; else a sentence about where the search came to its end.
std::optional<std::string> find_nonlinearizable(const std::vector<RegisterOperation>& history);

}  // namespace nomad::test
