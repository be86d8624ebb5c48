// A bound of the memory that a process (and each that it starts) takes for itself: RLIMIT_DATA.
//
// Of another user's process the kernel lets nobody change it but who has CAP_SYS_RESOURCE; being
// root is not enough. What has become the process's own user may.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "runtime/base/result.hpp"

namespace nomad::host {

struct MemoryBound {
  std::uint64_t bytes = 0;  ///< 0: as much as it may give itself.
  bool for_good = false;    ///< It can't give itself more, either.
};

/// Of the process `pid`; 0: of this one. It holds when this returns: it is read again. No bound
/// is raised beyond what the process may give itself. `rejected`: this process may not do that.
Result<> bound_memory(pid_t pid, const MemoryBound& bound);

}  // namespace nomad::host
