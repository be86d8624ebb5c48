// The quota of a plan's namespace, as a part of plan verification.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/scheduler/plan/plan.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::scheduler {

/// Which nodes' parts of the plan the quota has no room for, and why. `left_out` are refused
/// already: with their placements their ends do not come about either.
std::map<std::string, std::string> check_quota(
    const Plan& plan,
    const std::map<std::string, std::string, std::less<>>& left_out,
    const state::Snapshot& state,
    std::string_view region);

}  // namespace nomad::scheduler
