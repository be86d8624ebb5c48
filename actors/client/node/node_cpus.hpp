// NodeCpus: keeps the tasks without cores of their own off those that others have reserved, as
// allocations come and go. The tasks that have some are put on them when they start, by their
// driver. Part of the client actor; works in its turns, and writes in steps.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/tools/blocking_pool.hpp"
#include "actors/core/actor.hpp"
#include "runtime/workload/node/cpu_sets.hpp"
#include "schema/alloc.capnp.h"

namespace nomad::client {

class NodeCpus {
public:
  struct Parts {
    BlockingPool steps;
    /// As in ClientParts.
    std::function<Result<>(const std::string& parent, const std::string& cpus)> share;
    std::string cgroup_parent;
  };

  NodeCpus(actor::Self* self, Parts parts) : self_{self}, parts_{std::move(parts)} {}

  NodeCpus(const NodeCpus&) = delete;
  NodeCpus& operator=(const NodeCpus&) = delete;

  /// From now on the machine is told: all that the last agent left is held. What runs stays as that
  /// agent had it before.
  void begin();

  /// The node's cores that tasks may use, whenever they may have changed.
  void set_reservable(const std::vector<std::uint16_t>& cores);

  /// An allocation is about to run.
  void hold(AllocView alloc);

  /// Its tasks have ended.
  void release(const std::string& alloc_id);

private:
  void write();
  void written(const Result<>& outcome);

  actor::Self* self_;
  Parts parts_;
  workload::CpuSets sets_;
  bool begun_ = false;
  bool under_way_ = false;  ///< A step is: what changes meanwhile is written after it.
  bool warned_ = false;     ///< That it can't be written, since it last could.
  std::string told_;        ///< What the machine was told last.
};

}  // namespace nomad::client
