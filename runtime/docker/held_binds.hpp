// What of an allocation's directory a container is shown because its job says so. Tasks may put
// links in the place of their directories, and the engine follows links; so a path that is only
// looked at may lead elsewhere when the engine comes to it. Here it is opened below the
// allocation's directory, and what was opened is mounted at a location that no task reaches, which
// the engine is given in its stead, for as long as the container may be started.
//
// An engine that does not see such a mount, because its mounts are others than this process's,
// would show the container an empty directory; so each one is looked at through the engine's
// process.
//
// Blocks on the file system. May depend on: runtime/base, runtime/host.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::docker {

struct BindSource {
  std::string root;
  std::string path;            ///< Written as one below the root.
  bool makes_missing = false;  ///< A directory, where nothing is; else that is `not_found`.
};

/// Mounts what the source leads to now at `target`, which is made, and says whether that may be
/// given to the engine behind the socket: not if this process may not mount, or the engine does not
/// see it. `rejected` if the source leads out of its root.
Result<bool> hold_bind(const std::string& target,
                       const BindSource& source,
                       const std::string& engine_socket);

/// Ends what was held at the place, the folder of its targets.
void release_binds(const std::string& location);

/// Ends what earlier agents have left in `folder`, which has a folder of places for each agent's
/// life, but for the locations whose names are to be kept; `own` is this agent's life.
void release_binds_of_others(const std::string& folder,
                             const std::string& own,
                             const std::function<bool(std::string_view location)>& is_kept);

}  // namespace nomad::docker
