// PeriodicSchedule: which periodic job is to be launched next. The deciding half of the periodic
// dispatcher.
//
// May depend on: runtime/base, object, state, jobspec. Time is passed in, as Unix seconds: launches
// have no finer grain.
//
// The time of each launch is a row of the state, so a new leader sees whether one was missed while
// nobody led; it catches up with one launch at most. A launch of a release without that row is
// known by its child's id, which holds its time, until the child is collected. What was due before
// the job became what it is now (registered, changed, stopped and started again) was not missed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/object/object.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/job.capnp.h"

namespace nomad::cluster {

/// When the job is due after `from`: the earliest of its specs, in its time zone (UTC when that is
/// unknown). Nothing: never.
std::optional<std::int64_t> next_periodic_launch(schema::PeriodicConfig::Reader periodic,
                                                 std::int64_t from);

/// Whether the job is to be launched by its schedule at all.
bool is_periodic_active(schema::Job::Reader job);

/// Whether an earlier launch of the job still runs or waits.
bool has_running_child(const state::Snapshot& snapshot,
                       std::string_view ns,
                       std::string_view job_id);

class PeriodicSchedule {
public:
  struct Launch {
    std::string ns;
    std::string job_id;
    std::int64_t time = 0;
  };

  /// Takes over the periodic jobs of the state: new and changed ones are due next after `now`,
  /// those that are gone or stopped are forgotten.
  void sync(const state::Snapshot& snapshot, std::int64_t now);

  /// The jobs that had a launch due after their last one and by `now`; for a new leader.
  std::vector<Launch> missed(const state::Snapshot& snapshot, std::int64_t now) const;

  /// Removes and returns what is due by `now`; each job is then due at its next time.
  std::vector<Launch> take_due(const state::Snapshot& snapshot, std::int64_t now);

  /// When `take_due` has something next.
  std::optional<std::int64_t> next() const;

  std::size_t size() const { return jobs_.size(); }

  void clear();

private:
  using Key = std::pair<std::string, std::string>;  ///< namespace, id

  struct Tracked {
    std::uint64_t job_modify_index = 0;
    std::int64_t next = 0;  ///< 0: never.
  };

  void set_next(const Key& key, Tracked& tracked, std::optional<std::int64_t> next);

  std::map<Key, Tracked> jobs_;
  std::set<std::pair<std::int64_t, Key>> by_time_;
};

}  // namespace nomad::cluster
