// ArtifactHook ("artifacts"): fetches the artifacts of a task before it starts, each by a confined
// nomadctl-artifact, up to three of a task at a time. What came is looked at, and moved to its
// destination, by steps on the step runner; the processes are the FetchPool's.
//
// Every failure is recoverable, as in Nomad: the restart policy decides on another try, which
// fetches what has failed and nothing else. A restored task fetches nothing again.
//
// Owns:   the artifacts under way, a staging directory for each, and the tickets of their fetches.
// Takes:  what the role Hook lists. A Cancel kills the fetches; the answer comes when their
// processes
//         and their staging are gone.
// Parent: task_runner, report: the phase fails.
// Ends:   by the parent's exit message, which cancels what it has under way.
#pragma once

#include <memory>

#include "actors/client/hooks/hook.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "runtime/artifact/fetch_pool.hpp"

namespace nomad::client {

struct ArtifactHookParts {
  std::shared_ptr<artifact::FetchPool> pool;  ///< Null: its tasks fail, for want of a program.
  BlockingPool steps;
  UnixClock unix_now;
};

HookEntry artifacts_hook(ArtifactHookParts parts);

}  // namespace nomad::client
