// Hooks: steps around the life of an allocation or a task, each an actor of its own. The runner
// asks them in the phases that they name, in the order of the catalog, and has them end when there
// is nothing more to ask. The contract is schema/plugin.capnp; a hook that is no more than a
// function is wrapped by `function_hook`.
//
// Rules of hooks:
//   - A request is answered always, once: after a Cancel too (`Errc::cancelled`).
//   - Only an update may come while another request is open.
//   - A hook keeps nothing that it cannot make anew: it may be asked by a new actor at any phase,
//     after a crash or a restart of the agent, with what its last Prestart left.
//   - One that has nothing more to do may quit. It is made anew if a phase of it comes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/client/tools/plugin_agent.hpp"
#include "actors/core/actor.hpp"
#include "runtime/object/alloc_view.hpp"
#include "runtime/object/object.hpp"
#include "runtime/workload/task_env.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"
#include "schema/plugin.capnp.h"

namespace nomad::client {

/// The environments of whom a hook is asked for, as values of this process. Immutable.
struct Environments {
  workload::TaskEnv own;  ///< The task's; of an allocation: of no task.
  std::map<std::string, workload::TaskEnv, std::less<>> of_tasks{};  ///< Of an allocation.

  /// As those get them who are outside of this process.
  void write(schema::plugin::HookRequest::Builder request) const;
};

using EnvironmentsRef = std::shared_ptr<const Environments>;

namespace hook {

/// A phase has come. The request's deadline is the runner's too: it waits no longer.
struct Run {
  using is_message = void;
  Object<schema::plugin::HookRequest> request;
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
  EnvironmentsRef environments{};  ///< Of an entry that `reads_environment` in the phase.
};

struct Answered {
  using is_message = void;
  Object<schema::plugin::HookAnswer> answer;  ///< Empty: nothing to say.
};

/// Give up what is pending. Sent urgently; answered when no request is open any more. A hook that
/// takes longer than `cancel_grace` is killed.
struct Cancel {
  using is_message = void;
};

struct Settled {
  using is_message = void;
};

/// To hooks that watch, at every change of a task.
struct TasksChanged {
  using is_message = void;
  Object<schema::plugin::TaskStates> tasks;
};

inline constexpr auto cancel_grace = std::chrono::seconds{10};

}  // namespace hook

using Hook = actor::
    Interface<hook::Answered(hook::Run), hook::Settled(hook::Cancel), void(hook::TasksChanged)>;

using HookPhase = schema::plugin::Phase;

class HookPhases {
public:
  constexpr HookPhases(std::initializer_list<HookPhase> list) {
    for (const auto phase : list)
      add(phase);
  }

  constexpr void add(HookPhase phase) { bits_ = static_cast<std::uint16_t>(bits_ | bit(phase)); }

  constexpr bool contains(HookPhase phase) const { return (bits_ & bit(phase)) != 0; }

  /// Whether an actor that was asked in `phase` is asked again later on, as the same one.
  constexpr bool live_past(HookPhase phase) const;

private:
  static constexpr std::uint16_t bit(HookPhase phase) {
    return static_cast<std::uint16_t>(1U << static_cast<unsigned>(phase));
  }

  std::uint16_t bits_ = 0;
};

/// Whom a hook is made for, as it is now.
struct HookScope {
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
  Object<schema::plugin::HookTarget> target;
};

/// Makes the actor of a hook. Whom it tells and asks is the runner that it works for; what else it
/// needs it has from where the entry was made.
using SpawnHook = std::function<Hook(const actor::Owner&, const PluginAgent&, const HookScope&)>;

/// Wall clock, in nanoseconds.
using UnixClock = std::function<std::int64_t()>;

struct HookEntry {
  std::string name;
  std::string after{};  ///< The hook that it comes right behind; empty: where the catalog has it.
  HookPhases phases;    ///< In which it is asked.
  bool watches_tasks = false;
  bool keeps_nothing = false;      ///< Its actor ends after each phase, whatever comes later.
  HookPhases reads_environment{};  ///< In which it is made: that is a large part of a start.
  std::function<bool(const HookScope&)> needs_environment{};  ///< Asked then; empty: always.
  bool is_told_in_bytes = false;  ///< It reads environments in requests, as plugins do.
  std::string announcement{};     ///< "Task Setup" event before its first Prestart; empty: none.
  std::string failure_event{};    ///< The type of a failed Prestart's event; empty: the usual.
  /// How long its Prerun or Prestart may take; other phases: see `deadline`.
  std::chrono::nanoseconds patience = std::chrono::minutes{10};
  std::function<bool(const HookScope&)> wanted{};  ///< Asked before each phase. Empty: always.
  SpawnHook spawn;

  std::chrono::nanoseconds deadline(HookPhase phase) const;
};

/// All hooks of a node, in their order.
struct Hooks {
  std::vector<HookEntry> of_allocs{};
  std::vector<HookEntry> of_tasks{};
};

constexpr bool HookPhases::live_past(HookPhase phase) const {
  for (const auto last :
       {HookPhase::POSTRUN, HookPhase::DESTROY, HookPhase::SHUTDOWN, HookPhase::STOP})
    if (phase == last) return false;
  for (const auto later : {HookPhase::UPDATE, HookPhase::TASK_RESTART, HookPhase::PRE_KILL,
                           HookPhase::EXITED, HookPhase::POSTRUN, HookPhase::STOP})
    if (contains(later)) return true;
  return phase == HookPhase::PRESTART && contains(HookPhase::POSTSTART);
}

inline std::chrono::nanoseconds HookEntry::deadline(HookPhase phase) const {
  if (phase == HookPhase::PRERUN || phase == HookPhase::PRESTART) return patience;
  if (phase == HookPhase::POSTRUN || phase == HookPhase::DESTROY) return std::chrono::minutes{10};
  if (phase == HookPhase::SHUTDOWN) return std::chrono::seconds{5};
  return std::chrono::minutes{2};
}

}  // namespace nomad::client
