// Which one stays when a client is back: the allocation that was awaited, or what came in its
// place.
//
// May depend on: runtime/state. Pure.
#pragma once

#include "runtime/object/disconnect.hpp"
#include "runtime/scheduler/reconcile/reconcile.hpp"

namespace nomad::scheduler {

/// Whether the replacement stays rather than the original. Of a newer version of the job it always
/// does. `strategy` is the group's: best_score (the better placed one, unless it is the only one
/// that does not run), longest_running (of its leader or oldest task; the other one if it does
/// not run, the better placed one if neither does), keep_original or keep_replacement.
bool prefers_replacement(const AllocEntry& original,
                         const AllocEntry& replacement,
                         Reconcile strategy);

}  // namespace nomad::scheduler
