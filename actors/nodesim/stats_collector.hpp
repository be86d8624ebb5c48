// StatsCollector: counts and times what simulated nodes ask of the servers, at the nodes' side. A
// metered link stands before a node's real one and hands everything on. The StatsCollector is
// thread-safe.
//
// The link:
// Owns:   nothing; all links share the StatsCollector.
// Takes:  the door's questions.
// Parent: nobody, report: whoever simulates the nodes stops it.
// Ends:   by the parent's exit message.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "actors/roles/node_door.hpp"
#include "schema/alloc.capnp.h"

namespace nomad::nodesim {

/// What was answered since the last look, and `registered` and `allocs`, which are of the whole
/// run. Times are milliseconds, ascending.
struct Stats {
  std::size_t registered = 0;  ///< Nodes that the servers have taken in.
  std::size_t allocs = 0;      ///< Allocations that were ever told of.
  std::uint64_t missed = 0;    ///< Leases that the servers say were missed.
  std::uint64_t heartbeats = 0;
  std::uint64_t failures = 0;  ///< Questions of any kind that were answered by an error.
  std::uint64_t batches = 0;   ///< Of updates.
  std::uint64_t updates = 0;
  std::vector<double> heartbeat_ms;
  std::vector<double> status_ms;  ///< From a change of ClientStatus to the servers' answer for it.
};

/// The value below which `part` (0 to 1) of `ascending` lie; 0 of nothing.
double percentile(const std::vector<double>& ascending, double part);

class StatsCollector {
public:
  /// What came since the last call.
  Stats take();

  // From metered links. `now` is Unix nanoseconds.
  void answered(const door::Ask& ask,
                const door::Reply& reply,
                std::chrono::nanoseconds took,
                std::int64_t now);
  void failed();

private:
  void updated(const door::Ask& report, std::int64_t now);

  std::mutex guard_;
  Stats stats_;
  std::unordered_set<std::string> nodes_;
  std::unordered_map<std::string, schema::ClientStatus> statuses_;
};

NodeDoor spawn_metered_link(const actor::Owner& owner,
                            const NodeDoor& to,
                            std::shared_ptr<StatsCollector> meter);

}  // namespace nomad::nodesim
