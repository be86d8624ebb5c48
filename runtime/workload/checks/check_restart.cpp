#include "runtime/workload/checks/check_restart.hpp"

namespace nomad::workload {

bool CheckRestart::note(const CheckResult& result, Nanoseconds begun) {
  if (rules_.limit <= 0 || !since_ || begun - *since_ < rules_.grace
      || result.status == CheckStatus::pending)
    return false;
  const bool fails
      = result.status == CheckStatus::failure && !(result.is_warning && rules_.ignore_warnings);
  if (!fails) {
    failing_since_.reset();
    return false;
  }
  if (!failing_since_) failing_since_ = begun;
  // In whole intervals, rounded: runs begin a little late, and `limit` intervals may be more than a
  // number of nanoseconds can be.
  return (begun - *failing_since_ + interval_ / 2) / interval_ >= rules_.limit - 1;
}

void CheckRestart::started(Nanoseconds now) {
  failing_since_.reset();
  since_ = now;
}

void CheckRestart::start_over() {
  failing_since_.reset();
  since_.reset();
}

}  // namespace nomad::workload
