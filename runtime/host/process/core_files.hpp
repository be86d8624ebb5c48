// Core files of the agent and of executors would hold variables, keys and the environments of
// tasks: there are none. What they start has the limit that they were started with.
//
// Only system calls: `restore_core_limit` runs between fork and exec.
#pragma once

#include <algorithm>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace nomad::host {

namespace detail {

/// The limit that was found; of the whole process, as limits are.
struct CoreLimit {
  rlimit found{};
  bool is_lowered = false;
};

inline CoreLimit core_limit;

}  // namespace detail

/// Before the process has threads. The limit is one byte: Linux writes no file of it, and of all
/// limits that alone keeps it from giving the core to a program (`core_pattern` "|…"), which may
/// have 0 ignored. Root's is no longer traced by others either; for other users that would close
/// their own /proc/self to them.
inline void forbid_core_files() {
  auto& limit = detail::core_limit;
  if (::getrlimit(RLIMIT_CORE, &limit.found) == 0) {
    const rlimit none{std::min<rlim_t>(1, limit.found.rlim_max), limit.found.rlim_max};
    limit.is_lowered = ::setrlimit(RLIMIT_CORE, &none) == 0;
  }
  if (::geteuid() == 0) ::prctl(PR_SET_DUMPABLE, 0);
}

/// Of a child that becomes another program.
inline void restore_core_limit() {
  if (detail::core_limit.is_lowered) ::setrlimit(RLIMIT_CORE, &detail::core_limit.found);
}

}  // namespace nomad::host
