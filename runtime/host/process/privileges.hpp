// What a process gives up for good before it runs what nobody trusts. See also landlock.hpp.
//
// In this order, where all of it is wanted: forbid_new_privileges, Landlock's rules,
// drop_bounding_set, become, drop_capabilities, filter_calls: each may need what a later one takes.
// Errors, `io`: the kernel refused it.
#pragma once

#include <string_view>
#include <vector>

#include <sys/types.h>

#include "runtime/base/result.hpp"

namespace nomad::host {

struct ProcessUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups{};  ///< Besides.
};

/// No program that it becomes gives it any: none is setuid to it.
Result<> forbid_new_privileges();

/// Capabilities that nothing it becomes can have any more. Of who may not do that none is dropped.
void drop_bounding_set();

/// Nothing, if it is that user already.
Result<> become(const ProcessUser& user);

Result<> drop_capabilities();

/// `filter` is a program of the kernel's seccomp, as `make_call_filter` gives it; empty: none.
Result<> filter_calls(std::string_view filter);

}  // namespace nomad::host
