// Isolation: the place of its own that a task is started in, as a plan. Everything is decided here
// and beside here (mount_plan, capabilities, system_calls); the executor only carries it out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/isolation/capabilities.hpp"
#include "runtime/host/isolation/mount_plan.hpp"

namespace nomad::host {

struct Isolation {
  std::string root{};  ///< Directory of the host that becomes the task's "/".
  bool pivot = true;   ///< false: `no_pivot_root`.
  bool private_pids = true;
  bool private_ipc = true;
  std::vector<PlannedMount> mounts{};
  std::uint64_t root_attributes = 0;
  std::vector<std::string> programs{};  ///< Where the command may be, in the task.
  CapabilitySet capabilities{};
  bool ambient = true;  ///< They stay with a user who is not root.
  bool no_new_privileges = true;
  std::string filter{};  ///< Of system calls; empty: none.
};

/// Whether `mode` asks for a namespace of the task's own: "private" does, "host" does not, and ""
/// is `otherwise`. `invalid_argument` for anything else, about the option `name`.
Result<bool> is_private(const std::string& name, const std::string& mode, bool otherwise);

/// Entries of a `chroot_env` (host path to task path) and what the host and the task's directory
/// have at their ends. Reads directories, a few for each entry. `invalid_argument` for one that
/// would be all of the task's view.
Result<std::vector<ChrootEntry>> look_at_chroot(const std::map<std::string, std::string>& env,
                                                const std::string& task_directory);

/// What `missing_for_isolation` says to who is not root, as Nomad does.
inline constexpr const char* needs_root = "Driver must run as root";

/// What of isolation this kernel and machine lack, in words; empty: nothing. Asks the kernel, makes
/// nothing.
std::string missing_for_isolation();

/// Whether overlays can have their upper directories in `directory`, which is made for a moment;
/// else why not. Nobody sees the overlay that it makes.
Result<> try_overlay(const std::string& directory);

}  // namespace nomad::host
