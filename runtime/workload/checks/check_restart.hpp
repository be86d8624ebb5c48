// CheckRestart: decides when a failing check has its tasks restarted.
//
// Rules:
//   1. Runs that began within `grace` of the watch's beginning say nothing.
//   2. From the first failing run on, a restart is due with the run that begins `interval` x
//      (`limit` - 1) later, or later still, if none in between passed: with the `limit`th failure
//      in a row, or earlier if the check takes longer than its interval.
//   3. A check that has not run says nothing, either. (Nomad counts "pending" as failing, and so
//      restarts tasks whose grace is shorter than the way to the first run.)
//   4. After a restart everything starts over, with a new grace: any number of restarts may follow.
#pragma once

#include <algorithm>
#include <optional>

#include "runtime/workload/checks/check_result.hpp"
#include "runtime/workload/checks/service_check.hpp"

namespace nomad::workload {

class CheckRestart {
public:
  /// Times are a monotonic clock's.
  CheckRestart(CheckRestartRules rules, Nanoseconds interval, Nanoseconds now)
      : rules_{rules}, interval_{std::max(interval, Nanoseconds{1})}, since_{now} {}

  /// A run that began at `begun` ended so. Whether a restart is due.
  bool note(const CheckResult& result, Nanoseconds begun);

  /// The tasks are restarted.
  void start_over(Nanoseconds now);

private:
  CheckRestartRules rules_;
  Nanoseconds interval_;
  Nanoseconds since_;  ///< When the watch began.
  std::optional<Nanoseconds> failing_since_;
};

}  // namespace nomad::workload
