// A random life of some CSI volumes on a real state: allocations claim and end, nodes go and come
// back, plugins fail, servers that lead die between a step and its entry in the log. Beside it a
// world is kept in which volumes are attached and mounted, and at each step it is held against the
// claims: who has none has nothing mounted, who lives and has it mounted keeps his, and what the
// rules of claims say is worked out anew.
#pragma once

#include <cstdint>
#include <string>

namespace nomad::properties {

struct LifeCounts {
  std::uint64_t claims = 0;    ///< That were taken.
  std::uint64_t refused = 0;   ///< That were not to be had.
  std::uint64_t released = 0;  ///< That are gone again.
  std::uint64_t failures = 0;  ///< Steps that failed, or were done and not written down.
  std::uint64_t lost = 0;      ///< Nodes that went down.
};

/// What went wrong in the life of that seed; empty if nothing did.
std::string live(std::uint64_t seed, LifeCounts& counts);

}  // namespace nomad::properties
