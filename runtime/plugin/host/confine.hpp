// What the process of a plugin may do, as its block of the agent's configuration says: another
// user, few of the host's files, fewer system calls. Before any code of the plugin runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "runtime/base/result.hpp"

namespace nomad::plugin {

/// The program that refuses system calls, if there is one, is read from here.
inline constexpr int filter_descriptor = 4;

/// What the agent has ordered by arguments.
struct Orders {
  struct User {
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups{};
  };

  std::optional<User> user{};
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
