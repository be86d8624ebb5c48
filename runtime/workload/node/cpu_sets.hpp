// CpuSets: which cores the tasks of a node may use. A task with reserved cores has those alone; all
// others share what nobody has reserved. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/object/alloc_view.hpp"
#include "schema/alloc.capnp.h"

namespace nomad::workload {

/// "0-2,7" for cores 0, 1, 2 and 7, in whatever order, as the kernel writes lists of processors.
std::string core_list(std::vector<std::uint16_t> cores);
std::string core_list(capnp::List<std::uint16_t>::Reader cores);

/// How many cores such a list has.
unsigned count_cores(std::string_view list);

/// Those of all tasks of an allocation.
std::vector<std::uint16_t> reserved_cores(AllocView alloc);

class CpuSets {
public:
  using Cores = std::vector<std::uint16_t>;

  /// The node's: those that tasks may use at all.
  void set_reservable(Cores cores) { reservable_ = std::move(cores); }

  /// The cores of all tasks of an allocation, from before they run. Two allocations may name the
  /// same core while one of them ends.
  void hold(const std::string& alloc_id, Cores cores);

  /// Its tasks have ended.
  void release(const std::string& alloc_id) { held_.erase(alloc_id); }

  /// The list for tasks without reserved cores. They have to run somewhere: when every core is
  /// reserved they may use all. Empty when the node has none that could be reserved: then nobody is
  /// held to any.
  std::string shared() const;

private:
  Cores reservable_;
  std::map<std::string, Cores> held_;  ///< Of allocations that have some.
};

}  // namespace nomad::workload
