// FunctionHook: the generic actor behind a hook that is no more than functions that may block.
//
// Owns:   the stop token of the function that runs, on a worker of the BlockingPool.
// Takes:  what the role Hook lists. A Cancel stops the token; the answer comes when the function
//         returns.
// Parent: alloc_runner, task_runner, report: the phase fails.
// Ends:   by the parent's exit message, when no later phase is left. A function that runs then goes
//         on until it sees its token stopped.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/hooks/hook.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "runtime/workload/task_env.hpp"

namespace nomad::client {

/// What a function of a hook knows of its phase. Copies are cheap; any thread.
struct HookCall {
  HookScope scope;
  Object<schema::plugin::HookRequest> request;
  std::stop_token stopped;
  EnvironmentsRef environments{};

  schema::plugin::HookTarget::Reader target() const { return *scope.target; }

  /// Of an entry that `reads_environment`.
  const workload::TaskEnv& env() const { return environments->own; }
};

/// What it gives back; a default one says nothing.
struct HookResult {
  /// As `Mount` of the contract has it.
  struct Mount {
    std::string task_path;
    std::string host_path;
    bool read_only = false;
    std::string propagation;
  };

  bool done = false;
  std::map<std::string, std::string> data{};
  workload::Variables env{};
  std::vector<Mount> mounts{};
};

using HookFunction = std::function<Result<HookResult>(const HookCall&)>;

/// An actor that calls the function of the phase as a step, and answers with nothing in phases
/// without one.
SpawnHook function_hook(BlockingPool steps,
                        std::vector<std::pair<HookPhase, HookFunction>> functions);

}  // namespace nomad::client
