// Which templates of a task have a new text that the task has not been told of yet (a splay passes,
// a restart is under way): a file of their locations beside the task's directory, in `.templates`,
// so that the next agent tells it. It is there only meanwhile. Who calls runs on the step runner.
#pragma once

#include <cstddef>
#include <set>

#include "actors/client/hooks/hook.hpp"
#include "runtime/base/result.hpp"

namespace nomad::client {

/// What was noted last; empty without a note, and for one that can't be read.
std::set<std::size_t> read_unsettled(const HookScope& scope);

/// Replaces what was noted; nothing is noted by removing the file.
Result<> note_unsettled(const HookScope& scope, const std::set<std::size_t>& which);

}  // namespace nomad::client
