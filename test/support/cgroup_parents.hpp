// Removes the control groups that a test's own parent has left, in all hierarchies. Those with
// processes stay.
#pragma once

#include <string>

#include <unistd.h>

#include "runtime/host/cgroup/cgroup.hpp"

namespace nomad::test {

inline void remove_cgroup_parents(host::CgroupMounts mounts, const std::string& parent) {
  mounts.controllers.emplace_back("unified", mounts.unified);
  for (const auto& [controller, mount] : mounts.controllers)
    for (const char* below : {"/shared", "/reserved", "/share.slice", "/reserve.slice", ""})
      ::rmdir((mount + '/' + parent + below).c_str());
}

}  // namespace nomad::test
