#include "runtime/host/process/memory_bound.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/resource.h>

namespace nomad::host {
namespace {

Error failure_of(const char* what, int error) {
  return errno_error(what, error, error == EPERM ? Errc::rejected : Errc::io);
}

}  // namespace

Result<> bound_memory(pid_t pid, const MemoryBound& bound) {
  rlimit now{};
  if (::prlimit(pid, RLIMIT_DATA, nullptr, &now) != 0)
    return failure_of("reading the bound of its memory", errno);
  rlimit wanted{now.rlim_max, now.rlim_max};
  if (bound.bytes > 0) wanted.rlim_cur = std::min<rlim_t>(bound.bytes, now.rlim_max);
  if (bound.for_good) wanted.rlim_max = wanted.rlim_cur;
  if (::prlimit(pid, RLIMIT_DATA, &wanted, nullptr) != 0
      || ::prlimit(pid, RLIMIT_DATA, nullptr, &now) != 0)
    return failure_of("bounding its memory", errno);
  if (now.rlim_cur != wanted.rlim_cur || now.rlim_max != wanted.rlim_max)
    return Error{Errc::io, "the bound of its memory does not hold"};
  return {};
}

}  // namespace nomad::host
