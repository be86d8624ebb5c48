// ServiceAddress: where a service is reached, and where a check of it goes, by the address mode:
// what the service tells others (auto), its port of the machine (host), that in the allocation's
// own network (alloc) or in the one that a driver made (driver).
//
// May depend on: runtime/base, object. Pure. Source: Nomad's serviceregistration.GetAddress.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/object/alloc_view.hpp"
#include "runtime/workload/task_env.hpp"
#include "schema/alloc.capnp.h"

namespace nomad::workload {

struct ServiceAddress {
  std::string address;
  std::int64_t port = 0;  ///< 0: none was asked for.
};

/// What an address is worked out of. Nothing in it is kept.
struct AddressScope {
  using Networks = capnp::List<schema::NetworkResource>::Reader;

  AllocView alloc;
  std::optional<Networks> task_networks = {};  ///< Of the task, if the service is one's.
  const DriverNetwork* driver = nullptr;       ///< Null: there is none.
  std::string host = {};  ///< The address of what is on the host and on no port of a network.
};

/// What the job says, interpolated.
struct AddressRequest {
  std::string mode = {};     ///< "" is "auto".
  std::string address = {};  ///< One to be told in mode "auto"; "": none.
  std::string port = {};     ///< A label or a number; "": none.
};

/// Errors: `rejected`, when the mode is unknown or nothing here has such an address, or the port is
/// neither a label of a network nor a number from 1 to 65535.
Result<ServiceAddress> service_address(const AddressScope& scope, const AddressRequest& request);

}  // namespace nomad::workload
