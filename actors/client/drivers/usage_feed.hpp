// UsageFeed: when a driver reads the usage of the tasks that it streams.
//
// Readings of the same interval fall together, whenever they were asked for, so that one look at
// the machine is enough for all tasks of a node. One that is late is not made up for.
//
// Plain code: the driver calls it in its own turns and gives it the time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "actors/client/driver.hpp"
#include "runtime/base/duration.hpp"

namespace nomad::client {

class UsageFeed {
public:
  /// `interval` as driver::usage_interval gives it; 0: the task is read no more.
  void follow(const driver::TaskId& id, Nanoseconds interval, Nanoseconds now);

  void drop(const driver::TaskId& id);

  bool follows(const driver::TaskId& id) const { return tasks_.contains(id); }

  /// When the next reading is due; nothing: none ever is.
  std::optional<Nanoseconds> next() const;

  /// What is to be read now. It is due again at its next tick after `now`.
  std::vector<driver::TaskId> take_due(Nanoseconds now);

private:
  struct Task {
    Nanoseconds interval{0};
    Nanoseconds due{0};
  };

  std::map<driver::TaskId, Task> tasks_;
  std::map<Nanoseconds, std::set<driver::TaskId>> ticks_;  ///< What is due at each.
};

}  // namespace nomad::client
