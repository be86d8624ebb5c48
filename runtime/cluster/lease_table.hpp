// LeaseTable: which node must be heard from by when. The deciding half of the heartbeat tracker.
//
// May depend on: runtime/base. Knows no clock, actor or thread: the caller passes the time in, so
// tests and fuzzers drive it directly.
//
// Invariant: `by_deadline_` and `deadlines_` hold the same (node, deadline) pairs.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/random.hpp"

namespace nomad::cluster {

struct LeaseOptions {
  std::chrono::milliseconds min_ttl{10'000};
  double max_heartbeats_per_second = 50.0;
  std::chrono::milliseconds grace{10'000};          ///< On top of what the client is told.
  std::chrono::milliseconds failover_ttl{300'000};  ///< For every node when leadership begins.
};

/// How long a client may stay silent: it grows with the number of nodes, so that all of them
/// together send no more than `max_heartbeats_per_second`, and is spread at random up to twice
/// that, so that they do not beat in step.
std::chrono::milliseconds lease_ttl(std::size_t nodes, const LeaseOptions& options, Random& random);

class LeaseTable {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Starts or extends the lease of `node`; it now ends at `deadline`.
  void renew(const std::string& node, TimePoint deadline);

  /// Ends the lease of `node` without calling it lost. Unknown nodes are ignored.
  void forget(const std::string& node);

  /// Removes and returns the nodes whose lease ended at or before `now`, oldest first.
  std::vector<std::string> expire(TimePoint now);

  bool holds(const std::string& node) const { return deadlines_.contains(node); }

  std::size_t size() const noexcept { return deadlines_.size(); }

private:
  std::set<std::pair<TimePoint, std::string>> by_deadline_;
  std::unordered_map<std::string, TimePoint> deadlines_;
};

}  // namespace nomad::cluster
