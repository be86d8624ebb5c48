// RestartTracker: decides whether a task that ended, failed to start or was told to restart runs
// again, and when. What happened since the last decision is noted first; `decide` uses it up.
//
// Rules, in this order:
//   1. Killed: no restart.
//   2. Paused: it runs again when its schedule says so; the attempts are counted anew.
//   3. A restart that somebody asked for (API, template): at once; it does not count.
//   4. No attempts allowed: the task ends; with success when it succeeded and need not run on.
//   5. A start error that is not recoverable: the task ends as failed.
//   6. A success that need not be repeated: the task ends well.
//   7. More than `attempts` restarts in `interval`: mode `fail` ends the task as failed, mode
//      `delay` waits for the interval's end.
//   8. Otherwise: after `delay` and up to a quarter more.
// A success of a task that has to run on (a service) counts as an attempt too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/duration.hpp"
#include "runtime/base/random.hpp"
#include "schema/job.capnp.h"

namespace nomad::workload {

struct RestartRules {
  std::int64_t attempts = 0;
  Nanoseconds interval{0};
  Nanoseconds delay{0};
  bool delays = false;  ///< Mode "delay"; otherwise "fail".

  friend bool operator==(const RestartRules&, const RestartRules&) = default;
};

/// The rules of a job file's `restart` block.
RestartRules restart_rules(schema::RestartPolicy::Reader policy);

/// Whether a task runs again after it ended with success: services and system tasks do, batch ones
/// don't; prestart and poststart tasks do as sidecars only, poststop tasks never.
bool restarts_on_success(std::string_view job_type, std::string_view hook, bool sidecar);

/// Whether a start that failed so is worth another try.
bool is_recoverable(const Error& err);

struct RestartDecision {
  enum class Kind : std::uint8_t {
    nothing,         ///< Nothing happened that asks for a decision.
    killed,          ///< The task was killed and stays dead.
    paused,          ///< Start again when the schedule lets it.
    restart,         ///< Start again after `delay`.
    not_restarting,  ///< The task failed for good.
    terminated,      ///< The task is over, not failed.
  };
  Kind kind = Kind::nothing;
  Nanoseconds delay{0};
  std::string reason;
};

class RestartTracker {
public:
  /// `now` is any monotonic time; the same clock is used in `decide`.
  RestartTracker(RestartRules rules, bool on_success, Nanoseconds now);

  /// New rules hold from the next decision on; the attempts already made stay counted.
  void set_rules(RestartRules rules) { rules_ = rules; }

  const RestartRules& rules() const { return rules_; }

  /// The task could not be started.
  void note_start_error(bool recoverable);

  /// The task ran and ended.
  void note_exit(bool successful);

  /// A restart was asked for. `failure`: because the task is unhealthy; the policy then decides.
  void note_restart(bool failure);

  /// What was asked for has come about by itself: the task starts anew.
  void forget_restart();

  void note_killed() { killed_ = true; }

  /// It is ended because it is paused: how it ends does not matter.
  void note_paused() { paused_ = true; }

  RestartDecision decide(Nanoseconds now, Random& random);

private:
  RestartDecision decide_noted(Nanoseconds now, Random& random);
  RestartDecision after_failure(Nanoseconds now, Random& random) const;

  RestartRules rules_;
  bool on_success_;
  Nanoseconds interval_start_;
  std::int64_t count_ = 0;  ///< Attempts since `interval_start_`.

  std::optional<bool> start_error_recoverable_;
  std::optional<bool> exit_successful_;
  bool restart_asked_ = false;
  bool failure_ = false;
  bool killed_ = false;
  bool paused_ = false;
};

}  // namespace nomad::workload
