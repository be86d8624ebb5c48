// Self drain: a client node that leaves for good has its allocations moved away first
// (client.drain_on_shutdown).
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "actors/core/system.hpp"
#include "actors/roles/node_door.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"

namespace nomad::agent {

struct SelfDrain {
  std::string node_id;
  Nanoseconds deadline{0};  ///< Negative: at once; 0: none.
  bool ignore_system_jobs = false;
};

/// Asks the servers to drain the node, and then, each second, whether that is done. Blocks. `wait`
/// blocks for so long, and says whether to go on. Errors: the servers can't be asked for ten
/// seconds to begin with, or don't say until five seconds after the deadline that it is done
/// (`timeout`); `wait` said no (`cancelled`). Servers that are away meanwhile are asked again.
Result<> drain_own_node(actor::System& system,
                        const NodeDoor& servers,
                        const SelfDrain& drain,
                        const std::function<bool(std::chrono::milliseconds)>& wait);

}  // namespace nomad::agent
