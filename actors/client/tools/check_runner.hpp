// CheckRunner: runs the checks of all allocations of this node, knows how each stands, and tells
// whoever has them. When which is due, what an outcome means and whether tasks are to be restarted
// is decided by workload::CheckSchedule, CheckResult and CheckRestart; probe::Prober asks.
//
// Owns:   the schedule, the prober and its thread, the newest result of each check.
// Takes:  Watch, Started, Forget, ReportsOf. Tells the listener of an allocation Changed and
// RestartWanted,
//         and asks it RunScript.
// Parent: client, restart: it has forgotten everything, so whoever has checks sends Watch again;
//         they are pending until they have run.
// Ends:   by the parent's exit message. Probes under way are dropped.
//
// A listener that is gone does not end the watch: Forget does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/roles/client_api.hpp"
#include "runtime/probe/prober.hpp"
#include "runtime/workload/checks/check_result.hpp"
#include "runtime/workload/checks/check_schedule.hpp"

namespace nomad::client {

namespace check {

/// The status of a check is another one than before.
struct Changed {
  using is_message = void;
  std::string alloc_id;
  workload::RunCheck check;
};

/// By its check_restart block, a failing check has its tasks restarted. It counts as a failure of
/// the tasks. No check has the same tasks restarted before one of them is Started.
struct RestartWanted {
  using is_message = void;
  std::string alloc_id;
  std::string task;    ///< "": every running task of the allocation.
  std::string reason;  ///< `healthcheck: check "alive" unhealthy`
};

/// Runs a command beside a task, and ends it after `timeout`.
struct RunScript {
  using is_message = void;
  std::string alloc_id;
  std::string task;
  std::string command;
  std::vector<std::string> args;
  Nanoseconds timeout{0};
};

struct ScriptEnded {
  using is_message = void;
  int exit_code = 0;
  std::string output;  ///< The beginning of it, of both streams.
};

}  // namespace check

/// Played by whoever has the checks of an allocation.
using CheckListener = actor::Interface<void(check::Changed),
                                       void(check::RestartWanted),
                                       check::ScriptEnded(check::RunScript)>;

namespace check {

/// These are the allocation's checks from now on. Those that it had go on as they were, with their
/// results; those that are new are pending; others are forgotten.
struct Watch {
  using is_message = void;
  std::string alloc_id;
  std::vector<workload::ServiceCheck> checks;
  CheckListener listener;
};

/// How they stand, in their order; told of again one by one.
struct Watching {
  using is_message = void;
  std::vector<workload::RunCheck> checks;
};

/// A task runs, anew or as it was found, or with a task "" the group's tasks do: the grace of the
/// checks that restart just that begins. Before that no check has it restarted.
struct Started {
  using is_message = void;
  std::string alloc_id;
  std::string task;
  std::int64_t at = 0;  ///< Unix ns. One that is known already changes nothing; 0: never known.
};

/// The allocation has no checks any more, or none until its next Watch: with that they are pending,
/// and none of its tasks is Started.
struct Forget {
  using is_message = void;
  std::string alloc_id;
};

/// For the API.
struct ReportsOf {
  using is_message = void;
  std::string alloc_id;
};

}  // namespace check

using CheckRunner = actor::Interface<check::Watching(check::Watch),
                                     void(check::Started),
                                     void(check::Forget),
                                     client_api::CheckReports(check::ReportsOf)>;

struct CheckRunnerOptions {
  workload::ScheduleLimits limits = {};
  std::uint64_t seed = 0;
  std::function<std::int64_t()> unix_now;  ///< Wall clock, in nanoseconds.

  /// Called with the first check that is asked over the network.
  std::function<std::unique_ptr<probe::Prober>()> make_prober = probe::make_prober;
};

CheckRunner spawn_check_runner(const actor::Owner& owner, CheckRunnerOptions options);

}  // namespace nomad::client
