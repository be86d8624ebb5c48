// HeartbeatStop: which allocations a client ends by itself because it has been without servers for
// longer than their groups allow (`stop_after_client_disconnect`). The servers wait as long before
// they place them elsewhere, so that two never run at once.
//
// Times are any monotonic clock's that goes on while the process is stopped. The count begins when
// the client starts: one that never reaches a server ends such allocations too.
//
// Invariant: an allocation is named once, at the first look after its time, and not before.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/duration.hpp"

namespace nomad::workload {

class HeartbeatStop {
public:
  /// The client starts.
  explicit HeartbeatStop(Nanoseconds now = Nanoseconds{0}) : last_ok_{now} {}

  /// The servers have answered a heartbeat or a registration.
  void heard(Nanoseconds now) { last_ok_ = now; }

  /// `patience` is how long the allocation may run without servers. Replaces an earlier one.
  void watch(const std::string& alloc_id, Nanoseconds patience);

  void forget(const std::string& alloc_id);

  /// Removes and returns those whose time is over, the least patient first.
  std::vector<std::string> expire(Nanoseconds now);

  /// Of the least patient allocation; nothing: nobody is watched. Heartbeats have to come more
  /// often.
  std::optional<Nanoseconds> shortest() const;

  /// How long until somebody should look again; nothing: nobody is watched.
  std::optional<Nanoseconds> next_look(Nanoseconds now) const;

private:
  Nanoseconds last_ok_;
  std::map<std::string, Nanoseconds> patience_;                ///< By allocation.
  std::set<std::pair<Nanoseconds, std::string>> by_patience_;  ///< The same; heartbeats ask it.
};

}  // namespace nomad::workload
