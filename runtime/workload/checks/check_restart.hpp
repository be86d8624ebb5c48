// CheckRestart: decides when a failing check has its tasks restarted.
//
// Rules:
//   1. Runs say nothing that began before the tasks that would be restarted run, or within `grace`
//      of the last of their starts (check_starts.hpp says which). (A restart's delay, the end of
//      the old process and what comes before the new one don't eat the grace up.)
//   2. From the first failing run on, a restart is due with the run that begins `interval` x
//      (`limit` - 1) later, or later still, if none in between passed: with the `limit`th failure
//      in a row, or earlier if the check takes longer than its interval.
//   3. A check that has not run says nothing, either. (Nomad counts "pending" as failing, and so
//      restarts tasks whose grace is shorter than the way to the first run.)
//   4. After a restart everything starts over with the next start: any number of restarts may
//   follow.
#pragma once

#include <algorithm>
#include <optional>

#include "runtime/workload/checks/check_result.hpp"
#include "runtime/workload/checks/service_check.hpp"

namespace nomad::workload {

class CheckRestart {
public:
  /// Nothing runs yet. Times are a monotonic clock's.
  CheckRestart(CheckRestartRules rules, Nanoseconds interval)
      : rules_{rules}, interval_{std::max(interval, Nanoseconds{1})} {}

  /// A task that would be restarted has started.
  void started(Nanoseconds now);

  /// A run that began at `begun` ended so. Whether a restart is due.
  bool note(const CheckResult& result, Nanoseconds begun);

  /// The tasks are to be restarted: nothing counts until one has started.
  void start_over();

private:
  CheckRestartRules rules_;
  Nanoseconds interval_;
  std::optional<Nanoseconds> since_;  ///< The last start.
  std::optional<Nanoseconds> failing_since_;
};

}  // namespace nomad::workload
