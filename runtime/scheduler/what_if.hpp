// What if: the state as it would be under other circumstances, for plans that suppose them: nodes
// that drain, that are gone, or that are added. It is as if each had happened, and all other jobs
// that it concerns had been scheduled, before the planned one is.
//
// May depend on: runtime/state. Works on a store of its caller's own; nothing else is changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/base/result.hpp"
#include "runtime/state/store.hpp"

namespace nomad::scheduler {

struct Circumstance {
  enum class Kind : std::uint8_t {
    drain,   ///< The node drains: what runs there moves.
    remove,  ///< The node is down: what runs there is lost.
    add,     ///< `count` nodes join that are like this one, with nothing on them.
  };

  Kind kind = Kind::drain;
  std::string node_id;      ///< Whole.
  std::uint32_t count = 1;  ///< Of nodes to add.
};

/// A scheduler whose plans are all accepted, and that comes to no end in so many, is at fault.
inline constexpr int most_steps = 8;

/// So many nodes may be added in all, and so many other jobs are scheduled for them, that want so
/// many allocations together.
inline constexpr std::uint32_t most_added_nodes = 1000;
inline constexpr std::size_t most_other_jobs = 200;
inline constexpr std::int64_t most_other_allocs = 20'000;

/// What came of the other jobs.
struct OtherJobs {
  std::size_t scheduled = 0;
  std::size_t without_room = 0;  ///< Of those, for which something found no place.
  std::size_t left_out = 0;      ///< Too many, or of a type that a plugin schedules.
};

/// A job by its namespace and id.
struct JobName {
  std::string_view ns;
  std::string_view id;
};

/// Writes `circumstances` to `store`, and then what schedulers do about them with all jobs but
/// `planned`, those of greater priority first. `now` is Unix nanoseconds, `region` the server's.
/// The error names the circumstance that can't be: `not_found` for a node that is not known,
/// `invalid_argument` for a count of none or too many.
Result<OtherJobs> suppose(state::Store& store,
                          std::span<const Circumstance> circumstances,
                          JobName planned,
                          std::int64_t now,
                          std::string_view region,
                          Random& random);

}  // namespace nomad::scheduler
