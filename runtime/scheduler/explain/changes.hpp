// Changes: the smallest change of a job or a node that would remove what is against a node, one for
// each reason that has such a remedy. Whether the allocation then fits is not said here: a Trial
// places it.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/scheduler/explain/folds.hpp"
#include "runtime/scheduler/explain/node_judge.hpp"

namespace nomad::scheduler::explain {

/// One or several edits that belong together.
struct Change {
  std::string text;
  std::vector<std::function<void(schema::Job::Builder)>> of_job = {};
  std::vector<std::function<void(schema::Node::Builder)>> of_node = {};
};

/// The change that removes each of the reasons against the node; none if one of them has no remedy.
std::optional<Change> change_for(const NodeJudge& judge,
                                 std::span<const ReasonId> against,
                                 const Refused& refused);

/// The job, or the node, with the change made.
Object<schema::Job> changed(const Object<schema::Job>& job, const Change& change);
Object<schema::Node> changed(const Object<schema::Node>& node, const Change& change);

/// How far the kind of change reaches: those of figures come first, those of machines last.
int reach_of(std::span<const ReasonId> against);

}  // namespace nomad::scheduler::explain
