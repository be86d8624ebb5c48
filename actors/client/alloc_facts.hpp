// AllocFacts: what the parts of an allocation's runner know of the allocation. The runner changes
// them, its parts read; all of them in the runner's own turns.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "actors/client/alloc_runner.hpp"
#include "actors/client/hooks/hook.hpp"
#include "actors/core/actor.hpp"

namespace nomad::client {

namespace alloc_runner {

/// Looks at the states of all tasks; sent behind whatever is in the mailbox.
struct Review {
  using is_message = void;
};

/// A command beside a task has had its time.
struct CommandTimeOver {
  using is_message = void;
  std::uint64_t number = 0;
};

/// The group's shutdown_delay is over.
struct DelayOver {
  using is_message = void;
};

}  // namespace alloc_runner

using AllocSelf = actor::WithInternal<AllocRunner,
                                      void(task_runner::Changed),
                                      void(task_runner::Ended),
                                      void(plugin_agent::Notice),
                                      plugin_agent::Answered(plugin_agent::Ask),
                                      void(alloc_runner::Review),
                                      void(alloc_runner::DelayOver),
                                      void(alloc_runner::CommandTimeOver)>;

struct AllocFacts {
  std::string id;
  Object<schema::Allocation> alloc;  ///< As the servers last had it.
  Object<schema::Job> job;
  std::optional<workload::HealthStatus> health{};  ///< Once it is known.
  bool begun = false;                              ///< An earlier agent has started tasks of it.

  /// `root`: its directory; `mounts`: a driver of its tasks can show them volumes.
  HookScope scope(std::string_view root, bool mounts = false) const;
};

}  // namespace nomad::client
