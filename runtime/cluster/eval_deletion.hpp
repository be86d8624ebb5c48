// Deletions of evaluations by operators, for outages in which they pile up faster than they are
// worked off.
//
// What is to go by a filter is found here, on the snapshot, and goes into the log as the filter and
// the ends of a range of keys, so that an entry is small and applying it seeks. Where it is
// applied, everything is judged again: an evaluation that came into the range and matches goes,
// too; one that came behind it stays. May depend on: runtime/base, access, object, query, state.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/cluster/job_commands.hpp"

namespace nomad::cluster {

/// One entry removes at most so many, and looks at not many more than so many evaluations that it
/// passes over: applying it must not hold up what comes behind it.
inline constexpr std::size_t most_deleted_evals = 256;
inline constexpr std::size_t most_looked_at_evals = 4096;

/// Removes what an operator names, each of which he must have the right to. Errors: `rejected`
/// unless the eval broker is paused, and when one is not safe to delete; `not_found`.
Result<Decision> decide_delete_evals(const state::Snapshot& snapshot,
                                     const access::Asking& asking,
                                     const std::vector<std::string>& eval_ids);

/// Removes what `filter` holds for, is safe to delete, and the operator has the right to; how many
/// each command removes is in its outcome. Takes as long as the table is. Errors: `rejected` unless
/// the eval broker is paused; `invalid_argument` if the filter is none.
Result<Decisions> decide_delete_by_filter(const state::Snapshot& snapshot,
                                          const access::Asking& asking,
                                          std::string_view filter);

}  // namespace nomad::cluster
