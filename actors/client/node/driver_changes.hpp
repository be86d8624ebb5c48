// What follows from a change of a node's drivers. Values in, values out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "actors/client/drivers/driver_manager.hpp"

namespace nomad::client {

struct DriverChanges {
  bool of_node = false;               ///< The node is to be registered with them.
  std::vector<std::string> gone;      ///< There is no such driver any more.
  std::vector<std::string> replaced;  ///< Another actor is the driver now, or none yet.
  /// For events of the node: drivers whose health is another, and what they say of it.
  std::vector<std::pair<std::string, std::string>> health_events;
};

DriverChanges changes_between(const KnownDrivers& before, const KnownDrivers& now);

}  // namespace nomad::client
