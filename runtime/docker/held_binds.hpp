// What of an allocation's directory a container is shown because its job says so. Tasks may put
// links in the place of their directories, and the engine follows links; so a path that is only
// looked at may lead elsewhere when the engine comes to it. Here it is opened below the
// allocation's directory, and what was opened is mounted at a place that no task reaches, which the
// engine is given in its stead. The container has a mount of its own as soon as it runs.
//
// Blocks on the file system. May depend on: runtime/base, runtime/host.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/result.hpp"

namespace nomad::docker {

/// Mounts what `path`, which is written as one below `root`, leads to now; a directory that is not
/// there is made. Nothing if this process may not mount. `rejected` if it leads out of `root`.
Result<std::optional<std::string>> hold_bind(const std::string& place,
                                             std::size_t number,
                                             const std::string& root,
                                             const std::string& path);

/// Ends what was held at the place.
void release_binds(const std::string& place);

/// Ends what earlier agents have left in `folder`, in which this one has its places in `own`.
void release_binds_of_others(const std::string& folder, const std::string& own);

}  // namespace nomad::docker
