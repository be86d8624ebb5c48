#include "runtime/workload/restart_policy.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/saturated.hpp"

namespace nomad::workload {

using Kind = RestartDecision::Kind;

RestartRules restart_rules(schema::RestartPolicy::Reader policy) {
  return {.attempts = policy.getAttempts(),
          .interval = Nanoseconds{policy.getInterval()},
          .delay = Nanoseconds{policy.getDelay()},
          .delays = policy.getMode() == "delay"};
}

bool restarts_on_success(std::string_view job_type, std::string_view hook, bool sidecar) {
  if (hook == "prestart" || hook == "poststart") return sidecar;
  if (hook == "poststop") return false;
  return job_type != "batch" && job_type != "sysbatch";
}

bool is_recoverable(const Error& err) {
  return err.code == Errc::unavailable || err.code == Errc::timeout || err.code == Errc::overloaded;
}

RestartTracker::RestartTracker(RestartRules rules, bool on_success, Nanoseconds now)
    : rules_{rules}, on_success_{on_success}, interval_start_{now} {}

void RestartTracker::note_start_error(bool recoverable) {
  start_error_recoverable_ = recoverable;
  failure_ = true;
}

void RestartTracker::note_exit(bool successful) {
  exit_successful_ = successful;
  failure_ = true;
}

void RestartTracker::note_restart(bool failure) {
  if (failure)
    failure_ = true;
  else
    restart_asked_ = true;
}

void RestartTracker::forget_restart() {
  restart_asked_ = false;
  failure_ = false;
}

RestartDecision RestartTracker::decide(Nanoseconds now, Random& random) {
  auto decision = decide_noted(now, random);
  start_error_recoverable_.reset();
  exit_successful_.reset();
  restart_asked_ = false;
  failure_ = false;
  killed_ = false;
  paused_ = false;
  return decision;
}

RestartDecision RestartTracker::decide_noted(Nanoseconds now, Random& random) {
  if (killed_) return {.kind = Kind::killed, .reason = {}};
  if (paused_) {
    count_ = 0;
    interval_start_ = now;
    return {.kind = Kind::paused, .reason = {}};
  }
  if (restart_asked_) return {.kind = Kind::restart, .reason = {}};
  const bool ended_well = exit_successful_.value_or(false) && !on_success_;
  if (rules_.attempts == 0)
    return {.kind = ended_well ? Kind::terminated : Kind::not_restarting,
            .reason = "Policy allows no restarts"};

  if (now - interval_start_ > rules_.interval) {
    count_ = 0;
    interval_start_ = now;
  }
  ++count_;
  if (!failure_) return {};
  if (start_error_recoverable_ && !*start_error_recoverable_)
    return {.kind = Kind::not_restarting, .reason = "Error was unrecoverable"};
  if (!start_error_recoverable_ && ended_well)
    return {.kind = Kind::terminated,
            .reason = "Restart unnecessary as task terminated successfully"};
  return after_failure(now, random);
}

RestartDecision RestartTracker::after_failure(Nanoseconds now, Random& random) const {
  if (count_ > rules_.attempts) {
    if (!rules_.delays)
      return {
          .kind = Kind::not_restarting,
          .reason = fmt::format(R"(Exceeded allowed attempts {} in interval {} and mode is "fail")",
                                rules_.attempts, format_duration(rules_.interval))};
    return {.kind = Kind::restart,
            .delay = std::max(rules_.interval - (now - interval_start_), Nanoseconds{0}),
            .reason = "Exceeded allowed attempts, applying a delay"};
  }
  const auto delay = std::max<std::int64_t>(rules_.delay.count(), 1);
  const auto jitter = random.below(static_cast<std::uint64_t>(delay)) / 4;
  return {.kind = Kind::restart,
          .delay = Nanoseconds{saturated_sum(delay, static_cast<std::int64_t>(jitter))},
          .reason = "Restart within policy"};
}

}  // namespace nomad::workload
