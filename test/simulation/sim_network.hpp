// SimNetwork: what lies between the machines of a simulated cluster: it delays, loses, duplicates,
// reorders, and cuts links, also one way only.
//
// A message may be lost without a word, as Raft expects. A call is a question and its answer over a
// connection: when either is lost the asker hears so after a while, as a broken connection tells.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "test/simulation/sim_system.hpp"

namespace nomad::test {

struct NetworkFaults {
  double lose = 0.03;
  double duplicate = 0.03;
  double slow = 0.03;  ///< Takes up to a second.
};

struct NetworkCounts {
  std::uint64_t messages = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t delayed = 0;  ///< By up to a second: later messages overtake them.
};

class SimNetwork {
public:
  using Machine = SimSystem::Machine;

  SimNetwork(SimSystem& system, std::uint64_t seed) : system_(system), random_(seed) {}

  /// None of the network's own accord from now on; cuts stay.
  void set_faults(const NetworkFaults& faults) { faults_ = faults; }

  /// Calls `arrive` as code of `to`, once, twice or never. False: it was lost.
  bool send(Machine from, Machine to, const std::function<void()>& arrive);

  /// As `send` for questions: `lost` runs at `from` if the machine or the link is away. One that
  /// may be `repeated` sometimes arrives twice, as when its sender has tried again. Returns when it
  /// arrives, `not_before` at the earliest, so that what follows can come behind it; nothing when
  /// it is lost.
  std::optional<Time> ask(Machine from,
                          Machine to,
                          bool repeated,
                          const std::function<void()>& arrive,
                          const std::function<void()>& lost,
                          Time not_before = Time{0});

  void cut(Machine from, Machine to) { cut_.emplace(from, to); }

  void mend(Machine from, Machine to) { cut_.erase({from, to}); }

  void mend_all() { cut_.clear(); }

  bool is_cut(Machine from, Machine to) const { return cut_.contains({from, to}); }

  const NetworkCounts& counts() const { return counts_; }

  Time delay(Time shortest, Time longest);

private:
  void deliver(Machine to, std::uint64_t life, Time when, const std::function<void()>& arrive);

  SimSystem& system_;
  Random random_;
  NetworkFaults faults_;
  std::set<std::pair<Machine, Machine>> cut_;
  NetworkCounts counts_;
};

}  // namespace nomad::test
