// DrainMonitor: prints what becomes of a node's drain and of its allocations, as it happens.
#pragma once

#include <cstdint>
#include <string>

#include "cli/api.hpp"

namespace nomad::cli {

/// The drain that is followed.
struct FollowedDrain {
  std::string node_id;
  std::uint64_t index = 0;     ///< Of the state that has it.
  bool ignore_system = false;  ///< System jobs may go on.
};

/// Asks over two connections of its own. Returns, when the drain is over and the node's allocations
/// have stopped, 0. An agent that does not answer is an error that is printed; the exit code is 0
/// all the same, as Nomad's is.
Result<int> monitor_drain(const CommonFlags& flags, const FollowedDrain& drain);

}  // namespace nomad::cli
