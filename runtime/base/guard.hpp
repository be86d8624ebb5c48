// Guard: where exceptions stop. Errors of ours are values; what is thrown comes from a library, or
// is a bug, and must end neither a thread's loop nor what else is done there.
#pragma once

#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad {

/// What the exception says that is being handled, as `internal`. In catch blocks only.
Error thrown_now();

namespace detail {

void log_thrown(std::string_view component);

}  // namespace detail

/// Calls `work`; what that throws is logged as an error of `component`. Whether nothing was thrown.
template <class Work>
bool guarded(std::string_view component, Work&& work) {
  try {
    work();
    return true;
  } catch (...) {
    detail::log_thrown(component);
    return false;
  }
}

}  // namespace nomad
