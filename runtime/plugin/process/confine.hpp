// What the process of a plugin may do, as its block of the agent's configuration says: another
// user, few of the host's files, fewer system calls. Before any code of the plugin runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/process/memory_bound.hpp"
#include "runtime/host/process/privileges.hpp"

namespace nomad::plugin {

/// The conversation with the agent.
inline constexpr int agent_socket = 3;

/// The program that refuses system calls, if there is one, is read from here.
inline constexpr int filter_descriptor = 4;

/// What the agent has ordered by arguments.
struct Orders {
  std::optional<host::ProcessUser> user{};
  bool is_confined = false;
  std::vector<std::string> paths{};  ///< Which a confined one may read and write, too.
  /// Of memory, from the beginning, until the agent knows what the plugin is. 0: no bound.
  std::uint64_t memory_bytes = 0;
  /// Nothing is loaded: another process, of that user, gets this bound.
  std::optional<std::pair<pid_t, host::MemoryBound>> bounds{};
  bool is_program = false;
  std::vector<std::string> words{};  ///< The library; or the program and its arguments.
};

/// `arguments` without the name of this program. The error is for whoever called it by hand.
Result<Orders> read_orders(const std::vector<std::string>& arguments);

/// From now on, for this process and all that it starts. An error: not all of it could be done.
Result<> confine(const Orders& orders);

/// As that user, whose process it is: root without CAP_SYS_RESOURCE may not.
Result<> bound_other(const Orders& orders);

}  // namespace nomad::plugin
