// Which ports of the host lead into the network of an allocation. Pure.
//
// May depend on: runtime/base, object.
#pragma once

#include <string>
#include <vector>

#include "schema/alloc.capnp.h"

namespace nomad::network {

struct PortMapping {
  int host_port = 0;
  int inside = 0;         ///< In the allocation's network.
  std::string protocol;   ///< "tcp" or "udp"
  std::string host_ip{};  ///< Empty: all addresses of the host.
  std::string label{};    ///< The port's name in the job.

  bool operator==(const PortMapping&) const = default;
};

/// A mapping for tcp and one for udp of each port, as Nomad has it. A port without `to` has the
/// same number inside. `every_address`: whatever address the scheduler chose, the port is mapped at
/// all of them.
std::vector<PortMapping> port_mappings(schema::AllocatedSharedResources::Reader shared,
                                       bool every_address);

}  // namespace nomad::network
