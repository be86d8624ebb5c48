// Users: names to ids, as tasks run under them. The agent resolves; the executor, being static,
// must not load the system's name services.
//
// Thread-safe. Look-ups are serialised, because some name services are not thread-safe, and
// cached: answers for an hour, failures for a minute. May block on a network directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "runtime/base/result.hpp"

namespace nomad::host {

/// An account as a process needs it.
struct TaskUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups{};  ///< All supplementary groups, the primary one included.
  std::string name{};           ///< Empty: no account has this id.
  std::string home{};
};

/// Looks up a user by name or decimal id, with a group or without: "www-data", "1000", "1000:1000".
/// An id that no account has is a user without name, in nobody's group. With a group the user is in
/// that one alone, which has to be one of its own, or of no entry on this machine.
/// `invalid_argument` `unknown user "x"`.
Result<TaskUser> find_user(std::string_view name);

}  // namespace nomad::host
