// Describe: reasons in words, from the numbers that a verdict has.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "runtime/scheduler/explain/explanation.hpp"
#include "runtime/scheduler/explain/node_judge.hpp"

namespace nomad::scheduler::explain {

/// Whether allocations of a namespace may be named. Empty: all may.
using MayName = std::function<bool(std::string_view ns)>;

/// The reason, with what this node has. `amounts` of the verdict, if it has any.
Reason describe(const NodeJudge& judge,
                ReasonId id,
                const Object<schema::Node>& node,
                const std::optional<Amounts>& amounts,
                const MayName& may_name);

}  // namespace nomad::scheduler::explain
