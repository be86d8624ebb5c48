// Orphans: what is on this node of allocations that nobody knows any more: tasks of drivers whose
// records are lost and whom the servers no longer want, and networks that an agent left when it
// was killed, or plugins when they failed. Part of the client; works in its turns. Those that are
// being removed are seen to by whoever removes them.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/drivers/driver_manager.hpp"
#include "actors/client/drivers/driver_objects.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "actors/core/actor.hpp"
#include "runtime/network/alloc_networks.hpp"

namespace nomad::client {

class Orphans {
public:
  Orphans(actor::Self* self, BlockingPool steps) : self_{self}, steps_{std::move(steps)} {}

  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;

  /// Has every driver end all tasks but `kept`.
  void end_tasks(const KnownDrivers& drivers, const std::vector<driver::TaskId>& kept);

  void end_tasks_of(const std::string& name,
                    const Driver& driver,
                    const std::vector<driver::TaskId>& kept);

  /// Whether a driver has not heard yet what is to go on: its successor is told.
  bool owes(const std::string& driver) const { return owed_.contains(driver); }

  /// Takes down the networks that are recorded and of no allocation that `is_known`, which is asked
  /// in a later turn. Does nothing while it is at it.
  void take_networks_down(const network::NetworkOptions& options,
                          std::function<bool(const std::string& alloc_id)> is_known);

private:
  void take_down(const network::AllocNetworks& networks, std::vector<std::string> unknown);
  void taken_down(const Result<>& outcome);

  actor::Self* self_;
  BlockingPool steps_;
  std::set<std::string> owed_;  ///< Drivers.
  bool takes_down_ = false;     ///< A step is at it.
};

}  // namespace nomad::client
