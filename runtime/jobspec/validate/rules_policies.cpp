// Rules about update, restart, reschedule, migrate, periodic, parameterized and scaling.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/cron/cron.hpp"
#include "runtime/jobspec/validate/rules.hpp"

namespace nomad::jobspec {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t restart_min_interval = ns(5s);
constexpr std::int64_t reschedule_min_interval = ns(15s);
constexpr std::int64_t reschedule_min_delay = ns(5s);

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

std::int64_t round_to_seconds(std::int64_t nanoseconds) {
  const std::int64_t second = ns(1s);
  const std::int64_t rest = nanoseconds % second;
  const std::int64_t down = nanoseconds - rest;
  return rest * 2 < second ? down : saturating_add(down, second);
}

/// How many attempts fit into an interval, and what interval all of them would need.
struct Viability {
  bool fits = true;
  std::int64_t possible = 0;
  std::int64_t needed = 0;
};

struct Delays {
  std::int64_t attempts;
  std::int64_t interval;
  std::int64_t delay;
  std::int64_t max_delay;
};

Viability constant_viability(const Delays& delays) {
  Viability result;
  result.needed = saturating_multiply(delays.attempts, delays.delay);
  if (delays.interval < result.needed) {
    result.fits = false;
    result.possible = delays.interval / delays.delay;
  }
  return result;
}

/// Delays double until they reach the ceiling, then add up; the steps after that are counted, not
/// taken, because a job may ask for any number of attempts.
Viability exponential_viability(const Delays& delays) {
  Viability result;
  std::int64_t taken = 0;
  for (std::int64_t next = delays.delay; taken < delays.attempts && next <= delays.max_delay;
       ++taken) {
    result.needed = next;
    if (result.needed < delays.interval) ++result.possible;
    next = saturating_multiply(next, 2);
    if (next == INT64_MAX) {
      ++taken;
      break;
    }
  }
  const std::int64_t rest = delays.attempts - taken;
  if (rest > 0) {
    const std::int64_t room = delays.interval - 1 - result.needed;
    if (room > 0) result.possible += std::min(rest, room / delays.max_delay);
    result.needed = saturating_add(result.needed, saturating_multiply(rest, delays.max_delay));
  }
  result.fits = result.possible >= delays.attempts;
  return result;
}

Viability fibonacci_viability(const Delays& delays) {
  Viability result;
  std::int64_t before = delays.delay;
  std::int64_t last = delays.delay;
  std::int64_t index = 1;  // of `last`
  std::int64_t first_beyond = delays.delay > delays.interval ? 0 : -1;
  bool ceiling = false;
  while (!ceiling && index + 1 < delays.attempts) {
    std::int64_t next = saturating_add(last, before);
    if (next > delays.max_delay) {
      next = delays.max_delay;
      ceiling = true;
    }
    before = last;
    last = next;
    ++index;
    if (first_beyond < 0 && last > delays.interval) first_beyond = index;
  }
  if (ceiling && index + 1 < delays.attempts) {
    const std::int64_t rest = delays.attempts - 1 - index;
    if (first_beyond < 0) {
      const std::int64_t steps = (delays.interval - last) / delays.max_delay + 1;
      if (steps <= rest) first_beyond = index + steps;
    }
    last = saturating_add(last, saturating_multiply(rest, delays.max_delay));
  }
  result.needed = last;
  if (delays.interval < result.needed) {
    result.fits = false;
    result.possible = std::max<std::int64_t>(first_beyond, 0);
  }
  return result;
}

Mistakes check_viability(const DraftBlock& policy, std::string_view function) {
  const Delays delays{policy.number("Attempts"), policy.number("Interval"), policy.number("Delay"),
                      policy.number("MaxDelay")};
  const Viability viability = function == "constant"      ? constant_viability(delays)
                              : function == "exponential" ? exponential_viability(delays)
                                                          : fibonacci_viability(delays);
  Mistakes out;
  if (viability.fits) return out;
  if (function == "constant")
    out.add(
        fmt::format("Nomad can only make {} attempts in {} with initial delay {} and delay "
                    "function {}",
                    viability.possible, duration_text(delays.interval), duration_text(delays.delay),
                    quote(function)));
  else
    out.add(
        fmt::format("Nomad can only make {} attempts in {} with initial delay {}, delay "
                    "function {}, and delay ceiling {}",
                    viability.possible, duration_text(delays.interval), duration_text(delays.delay),
                    quote(function), duration_text(delays.max_delay)));
  out.add(fmt::format("Set the interval to at least {} to accommodate {} attempts",
                      duration_text(round_to_seconds(viability.needed)), delays.attempts));
  return out;
}

}  // namespace

Mistakes check_update(const DraftBlock& update) {
  Mistakes out;
  const std::string_view health_check = update.text("HealthCheck");
  const std::int64_t max_parallel = update.number("MaxParallel");
  const std::int64_t canary = update.number("Canary");
  const std::int64_t min_healthy = update.number("MinHealthyTime");
  const std::int64_t healthy = update.number("HealthyDeadline");
  const std::int64_t progress = update.number("ProgressDeadline");
  const std::int64_t stagger = update.number("Stagger");

  if (health_check != "checks" && health_check != "task_states" && health_check != "manual")
    out.add("Invalid health check given: " + quote(health_check));
  if (max_parallel < 0)
    out.add(fmt::format("Max parallel can not be less than zero: {} < 0", max_parallel));
  if (canary < 0) out.add(fmt::format("Canary count can not be less than zero: {} < 0", canary));
  if (canary == 0 && update.flag("AutoPromote"))
    out.add("Auto Promote requires a Canary count greater than zero");
  if (min_healthy < 0)
    out.add("Minimum healthy time may not be less than zero: " + duration_text(min_healthy));
  if (healthy <= 0)
    out.add("Healthy deadline must be greater than zero: " + duration_text(healthy));
  if (progress < 0)
    out.add("Progress deadline must be zero or greater: " + duration_text(progress));
  if (min_healthy >= healthy)
    out.add(fmt::format("Minimum healthy time must be less than healthy deadline: {} > {}",
                        duration_text(min_healthy), duration_text(healthy)));
  if (progress != 0 && healthy >= progress)
    out.add(fmt::format("Healthy deadline must be less than progress deadline: {} > {}",
                        duration_text(healthy), duration_text(progress)));
  if (stagger <= 0) out.add("Stagger must be greater than zero: " + duration_text(stagger));
  return out;
}

Mistakes check_restart(const DraftBlock& policy) {
  Mistakes out;
  const std::string_view mode = policy.text("Mode");
  const std::int64_t attempts = policy.number("Attempts");
  const std::int64_t interval = policy.number("Interval");
  const std::int64_t delay = policy.number("Delay");
  if (mode != "delay" && mode != "fail") out.add("Unsupported restart mode: " + quote(mode));
  if (attempts == 0 && mode != "fail")
    out.add(fmt::format("Restart policy {} with {} attempts is ambiguous", quote(mode), attempts));
  if (interval < restart_min_interval)
    out.add(fmt::format("Interval can not be less than {} (got {})",
                        duration_text(restart_min_interval), duration_text(interval)));
  if (saturating_multiply(attempts, delay) > interval)
    out.add(
        fmt::format("Nomad can't restart the TaskGroup {} times in an interval of {} with a "
                    "delay of {}",
                    attempts, duration_text(interval), duration_text(delay)));
  return out;
}

Mistakes check_reschedule(const DraftBlock& policy) {
  Mistakes out;
  const std::int64_t attempts = policy.number("Attempts");
  const bool unlimited = policy.flag("Unlimited");
  if (attempts <= 0 && !unlimited) return out;
  const std::int64_t interval = policy.number("Interval");
  const std::int64_t delay = policy.number("Delay");
  const std::int64_t max_delay = policy.number("MaxDelay");
  const std::string_view function = policy.text("DelayFunction");

  if (attempts > 0) {
    if (interval <= 0) out.add("Interval must be a non zero value if Attempts > 0");
    if (unlimited) {
      out.add(
          fmt::format("Reschedule Policy with Attempts = {}, Interval = {}, and Unlimited = "
                      "true is ambiguous",
                      attempts, duration_text(interval)));
      out.add("If Attempts >0, Unlimited cannot also be set to true");
    }
  }
  bool comparable = true;
  if (delay < reschedule_min_delay) {
    out.add(fmt::format("Delay cannot be less than {} (got {})",
                        duration_text(reschedule_min_delay), duration_text(delay)));
    comparable = false;
  }
  if (function != "constant" && function != "exponential" && function != "fibonacci") {
    out.add(
        fmt::format("Invalid delay function {}, must be one of [\"constant\" \"exponential\" "
                    "\"fibonacci\"]",
                    quote(function)));
    comparable = false;
  }
  if (function != "constant") {
    if (max_delay < reschedule_min_delay) {
      out.add(fmt::format("Max Delay cannot be less than {} (got {})",
                          duration_text(reschedule_min_delay), duration_text(delay)));
      comparable = false;
    }
    if (max_delay < delay) {
      out.add(fmt::format("Max Delay cannot be less than Delay {} (got {})", duration_text(delay),
                          duration_text(max_delay)));
      comparable = false;
    }
  }
  if (unlimited) return out;
  if (interval < reschedule_min_interval)
    out.add(fmt::format("Interval cannot be less than {} (got {})",
                        duration_text(reschedule_min_interval), duration_text(interval)));
  if (comparable) out.add_each(check_viability(policy, function));
  return out;
}

Mistakes check_migrate(const DraftBlock& migrate) {
  Mistakes out;
  const std::int64_t max_parallel = migrate.number("MaxParallel");
  const std::string_view health_check = migrate.text("HealthCheck");
  const std::int64_t min_healthy = migrate.number("MinHealthyTime");
  const std::int64_t healthy = migrate.number("HealthyDeadline");
  if (max_parallel < 0) out.add(fmt::format("MaxParallel must be >= 0 but found {}", max_parallel));
  if (health_check.empty()) {
    if (max_parallel > 0) out.add("Missing HealthCheck");
  } else if (health_check != "checks" && health_check != "task_states") {
    out.add("Invalid HealthCheck: " + quote(health_check));
  }
  if (min_healthy < 0)
    out.add(fmt::format("MinHealthyTime is {} and must be >= 0", duration_text(min_healthy)));
  if (healthy < 0)
    out.add(fmt::format("HealthyDeadline is {} and must be >= 0", duration_text(healthy)));
  if (min_healthy > healthy) out.add("MinHealthyTime must be less than HealthyDeadline");
  return out;
}

Mistakes check_periodic(const DraftBlock& periodic) {
  Mistakes out;
  const std::string_view spec = periodic.text("Spec");
  const auto specs = periodic.texts("Specs");
  if (!spec.empty() && specs.size() != 0) out.add("Only cron or crons may be used");
  if (spec.empty() && specs.size() == 0) out.add("Must specify a spec");
  const std::string_view zone_name = periodic.text("TimeZone");
  if (const auto zone = TimeZone::find(zone_name); zone.has_error())
    out.add(fmt::format("Invalid time zone {}: {}", quote(zone_name), zone.error().what));

  if (const std::string_view type = periodic.text("SpecType"); type != "cron") {
    out.add("Unknown periodic specification type " + quote(type));
    return out;
  }
  const auto check = [&](std::string_view text) {
    if (const auto parsed = CronExpression::parse(text); parsed.has_error())
      out.add(fmt::format("Invalid cron spec {}: {}", quote(text), parsed.error().what));
  };
  if (!spec.empty()) check(spec);
  for (const auto each_spec : specs)
    check(view(each_spec));
  return out;
}

Mistakes check_parameterized(const DraftBlock& parameterized) {
  Mistakes out;
  const std::string_view payload = parameterized.text("Payload");
  if (payload != "optional" && payload != "required" && payload != "forbidden")
    out.add("Unknown payload requirement: " + quote(payload));

  std::set<std::string_view> required;
  for (const auto key : parameterized.texts("MetaRequired"))
    required.insert(view(key));
  std::set<std::string_view> both;
  for (const auto key : parameterized.texts("MetaOptional"))
    if (required.contains(view(key))) both.insert(view(key));
  if (!both.empty())
    out.add(
        fmt::format("Required and optional meta keys should be disjoint. Following keys exist "
                    "in both: [{}]",
                    fmt::join(both, " ")));
  return out;
}

Mistakes check_scaling(const DraftBlock& group, const DraftBlock& job) {
  Mistakes out;
  const DraftBlock scaling = group.child("Scaling");
  if (!scaling) return out;
  const std::int64_t least = scaling.number("Min");
  const std::int64_t most = scaling.number("Max");
  const std::int64_t count = group.number("Count");
  const auto add
      = [&](std::string_view text) { out.add("Scaling policy invalid: " + std::string{text}); };

  const std::string_view type = scaling.text("Type");
  if (type != "horizontal") {
    add(fmt::format("scaling policy type \"{}\" is not valid", type));
  } else {
    if (job.text("ID").empty()) add("missing target job");
    if (group.text("Name").empty()) add("missing target group");
  }
  if (most < 0)
    add("maximum count must be specified and non-negative");
  else if (most < least)
    add("maximum count must not be less than minimum count");
  if (least < 0) add("minimum count must be specified and non-negative");
  if (most < count)
    add("task group count must not be greater than maximum count in scaling policy");
  const bool counts_per_region
      = job.has("Multiregion") && count == 0 && job.text("Region") == "global";
  if (count < least && !counts_per_region)
    add("task group count must not be less than minimum count in scaling policy");
  return out;
}

}  // namespace nomad::jobspec
