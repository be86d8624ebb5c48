#include "runtime/scheduler/explain/obstacle.hpp"

#include "runtime/base/name_table.hpp"

namespace nomad::scheduler::explain {

std::string_view to_string(Obstacle what) {
  static constexpr std::string_view names[] = {"status",
                                               "drain",
                                               "eligibility",
                                               "node-pool",
                                               "datacenter",
                                               "constraint",
                                               "driver",
                                               "device",
                                               "network",
                                               "host-volume",
                                               "csi-volume",
                                               "distinct-hosts",
                                               "distinct-property",
                                               "present",
                                               "port",
                                               "network-room",
                                               "device-room",
                                               "cores",
                                               "cpu",
                                               "memory",
                                               "disk",
                                               "room"};
  static_assert(std::size(names) == obstacles);
  return name_in(names, what);
}

}  // namespace nomad::scheduler::explain
