// CheckSchedule: which checks are to run now, of all allocations of a node.
//
// Rules:
//   1. The first run of a check is a quarter to three quarters of its interval after it was added,
//      by chance, so that what begins together does not run together; then one each interval.
//   2. A check does not run twice at once. Who takes longer than his interval leaves runs out, and
//      stays in step.
//   3. At most `in_all` run at once, and `per_group` of one group (an allocation). Groups take
//      turns, so checks that hang hold up those of their own group before those of others.
//
// Each call is O(log n) of all checks, or of as many as it gives out. Times are a monotonic
// clock's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/base/random.hpp"

namespace nomad::workload {

struct ScheduleLimits {
  std::size_t in_all = 512;
  std::size_t per_group = 32;
};

class CheckSchedule {
public:
  /// A check; chosen by the caller, and never given to another one.
  using Key = std::uint64_t;

  CheckSchedule(ScheduleLimits limits, std::uint64_t seed) : limits_{limits}, random_{seed} {}

  /// `interval` counts as no less than a millisecond and no more than a year.
  void add(Key key, const std::string& group, Nanoseconds interval, Nanoseconds now);

  /// It may be running: the end of that run is nobody's business then. Unknown ones are fine.
  void remove(Key key);

  /// Those that begin now, each of which `finished` has to follow.
  std::vector<Key> begin_due(Nanoseconds now);

  /// Its run has ended. `begin_due` may give out others then.
  void finished(Key key, Nanoseconds now);

  /// When `begin_due` may have something; nothing when only `finished` or `add` change that.
  std::optional<Nanoseconds> next() const;

  std::size_t size() const { return checks_.size(); }

  std::size_t running() const { return running_; }

private:
  struct Group {
    std::size_t checks = 0;
    std::size_t running = 0;
    std::deque<Key> waiting;  ///< Due, in their order; some may have been removed.
    bool has_turn = false;    ///< It stands in `turns_`.
  };

  enum class Stage : std::uint8_t { asleep, waiting, running };

  struct Check {
    std::string group;
    Nanoseconds interval;
    Nanoseconds due;
    Stage stage = Stage::asleep;
  };

  void wake_due(Nanoseconds now);
  void give_turn(const std::string& name, Group& group);
  void stopped_running(const std::string& group);

  ScheduleLimits limits_;
  Random random_;
  std::unordered_map<Key, Check> checks_;
  std::unordered_map<std::string, Group> groups_;
  std::set<std::pair<Nanoseconds, Key>> asleep_;  ///< By when they are due.
  std::deque<std::string> turns_;  ///< Groups that have somebody waiting and may run one more.
  std::size_t running_ = 0;
};

}  // namespace nomad::workload
