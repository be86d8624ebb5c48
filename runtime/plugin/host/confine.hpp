// What the process of a plugin may do, as its block of the agent's configuration says: another
// user, few of the host's files, fewer system calls. Before any code of the plugin runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
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
  bool is_program = false;
  std::vector<std::string> words{};  ///< The library; or the program and its arguments.
};

/// `arguments` without the name of this program. The error is for whoever called it by hand.
Result<Orders> read_orders(const std::vector<std::string>& arguments);

/// From now on, for this process and all that it starts. An error: not all of it could be done.
Result<> confine(const Orders& orders);

}  // namespace nomad::plugin
