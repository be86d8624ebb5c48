// The rules of variables' locks, told from outside: what one applied command may have done to the
// variables of a small state. They know nothing of how commands are applied.
#pragma once

#include <string>

#include "runtime/state/snapshot.hpp"
#include "schema/command.capnp.h"

namespace nomad::properties {

/// Who takes locks, and where the variables are that are drawn.
inline constexpr const char* lock_ids[] = {"lock-a", "lock-b"};
inline constexpr const char* variable_path = "path";
inline constexpr const char* variable_namespaces[] = {"default", "side"};

/// Empty, or which rule is broken by `command`, which made `after` of `before`: while a variable is
/// locked, only who shows its lock's id changes it; a lock goes to nobody else before it is given
/// up; what a lock is like stays as agreed on; at most one may renew it, and that is who has it.
std::string broken_lock_rule(const state::Snapshot& before,
                             schema::Command::Reader command,
                             const state::Snapshot& after);

}  // namespace nomad::properties
