// Mistakes: deliberate ones of the schedulers and of plan verification, for tests to find. Built
// without NOMAD_SCHEDULER_MISTAKES (as the program is), every one is a constant false and does not
// exist in the binary.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace nomad::scheduler {

enum class Mistake : std::uint8_t {
  none,
  trust_plans,         ///< Takes each plan to fit, whatever was written meanwhile.
  trust_evaluations,   ///< Writes plans of evaluations that are over or not theirs any more.
  write_halves,        ///< Writes what fits of plans that are all or nothing.
  complete_too_soon,   ///< Completes an evaluation with the first part of its plan.
  ignore_constraints,  ///< Of groups and tasks.
  ignore_distinct_hosts,
  ignore_distinct_property,
  ignore_spread,
  ignore_penalty,  ///< Of nodes where an allocation has failed.
  ignore_affinity,
  share_cores,           ///< Gives cores out that others have.
  preempt_equals,        ///< Preempts whoever is in the way.
  hurry_updates,         ///< Replaces by max_parallel without waiting for health.
  skip_canaries,         ///< Goes on as if canaries were promoted.
  repeat_canaries,       ///< Forgets those that are there.
  keep_surplus,          ///< Does not stop what is too much.
  keep_lost,             ///< Replaces lost allocations without ending them.
  restless_updates,      ///< Writes allocations anew that are up to date.
  forget_blocked,        ///< Does not wait for room.
  forget_followups,      ///< Of delayed rescheduling.
  evaluate_again,        ///< Asks for another evaluation whenever it is done.
  draw_freely,           ///< What it draws is not a function of what it knows.
  hurry_system_updates,  ///< Replaces all system allocations at once.
  fill_nodes_again,      ///< Places system allocations beside those that are there.
};

inline constexpr std::array mistake_names = {
    std::pair{Mistake::trust_plans, std::string_view{"trust_plans"}},
    std::pair{Mistake::trust_evaluations, std::string_view{"trust_evaluations"}},
    std::pair{Mistake::write_halves, std::string_view{"write_halves"}},
    std::pair{Mistake::complete_too_soon, std::string_view{"complete_too_soon"}},
    std::pair{Mistake::ignore_constraints, std::string_view{"ignore_constraints"}},
    std::pair{Mistake::ignore_distinct_hosts, std::string_view{"ignore_distinct_hosts"}},
    std::pair{Mistake::ignore_distinct_property, std::string_view{"ignore_distinct_property"}},
    std::pair{Mistake::ignore_spread, std::string_view{"ignore_spread"}},
    std::pair{Mistake::ignore_penalty, std::string_view{"ignore_penalty"}},
    std::pair{Mistake::ignore_affinity, std::string_view{"ignore_affinity"}},
    std::pair{Mistake::share_cores, std::string_view{"share_cores"}},
    std::pair{Mistake::preempt_equals, std::string_view{"preempt_equals"}},
    std::pair{Mistake::hurry_updates, std::string_view{"hurry_updates"}},
    std::pair{Mistake::skip_canaries, std::string_view{"skip_canaries"}},
    std::pair{Mistake::repeat_canaries, std::string_view{"repeat_canaries"}},
    std::pair{Mistake::keep_surplus, std::string_view{"keep_surplus"}},
    std::pair{Mistake::keep_lost, std::string_view{"keep_lost"}},
    std::pair{Mistake::restless_updates, std::string_view{"restless_updates"}},
    std::pair{Mistake::forget_blocked, std::string_view{"forget_blocked"}},
    std::pair{Mistake::forget_followups, std::string_view{"forget_followups"}},
    std::pair{Mistake::evaluate_again, std::string_view{"evaluate_again"}},
    std::pair{Mistake::draw_freely, std::string_view{"draw_freely"}},
    std::pair{Mistake::hurry_system_updates, std::string_view{"hurry_system_updates"}},
    std::pair{Mistake::fill_nodes_again, std::string_view{"fill_nodes_again"}},
};

#ifdef NOMAD_SCHEDULER_MISTAKES
/// The one that is made now, by this thread.
inline thread_local Mistake mistake = Mistake::none;
#define NOMAD_MISTAKEN(name) (::nomad::scheduler::mistake == ::nomad::scheduler::Mistake::name)
#else
#define NOMAD_MISTAKEN(name) false
#endif

}  // namespace nomad::scheduler
