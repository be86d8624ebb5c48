#include "runtime/workload/alloc_health.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/saturated.hpp"
#include "runtime/base/text.hpp"

namespace nomad::workload {
namespace {

/// A wait of centuries ends never, not at once.
Nanoseconds later(Nanoseconds now, Nanoseconds wait) {
  return Nanoseconds{saturated_sum(now.count(), wait.count())};
}

bool all_pass(std::span<const CheckStanding> standings, std::size_t wanted) {
  return standings.size() >= wanted
         && std::all_of(standings.begin(), standings.end(), [](const CheckStanding& each) {
              return each.kind == CheckStanding::Kind::passing;
            });
}

}  // namespace

AllocHealth::AllocHealth(HealthRules rules, std::vector<HealthTask> tasks, Nanoseconds now)
    : rules_{rules}, tasks_{std::move(tasks)}, deadline_{later(now, rules.healthy_deadline)} {}

AllocHealth::Verdict AllocHealth::update(std::span<const TaskState* const> states,
                                         bool alloc_failed,
                                         Nanoseconds now) {
  if (verdict_ != Verdict::undecided) return verdict_;
  std::optional<std::int64_t> latest_start{0};
  has_paused_ = false;
  for (std::size_t i = 0; i < states.size() && i < tasks_.size(); ++i) {
    const auto& task = tasks_[i];
    const auto& state = *states[i];
    const bool ephemeral = !task.sidecar;
    if (ephemeral && task.hook == "poststop") continue;
    if (ephemeral && task.hook == "poststart" && state.successful()) continue;
    const bool may_end = ephemeral && task.hook == "prestart";
    if (state.failed || (state.finished_at != 0 && !may_end)) return verdict_ = Verdict::unhealthy;
    if (is_pause(state.paused)) {
      has_paused_ = true;
    } else if (state.state == TaskRunState::PENDING) {
      latest_start.reset();
      break;
    } else {
      latest_start = std::max(*latest_start, state.started_at);
    }
  }
  if (latest_start == 0 && !has_paused_) latest_start.reset();
  alloc_failed_ = alloc_failed;
  if (alloc_failed) return verdict_ = Verdict::unhealthy;

  if (latest_start != latest_start_) {
    latest_start_ = latest_start;
    running_since_.reset();
    if (passing_since_) passing_since_ = now;
    if (latest_start) running_since_ = now;
  }
  return decide(now);
}

AllocHealth::Verdict AllocHealth::checks(std::vector<CheckStanding> standings, Nanoseconds now) {
  standings_ = std::move(standings);
  if (!all_pass(standings_, rules_.checks))
    passing_since_.reset();
  else if (!passing_since_)
    passing_since_ = now;
  return decide(now);
}

AllocHealth::Verdict AllocHealth::tick(Nanoseconds now) {
  return decide(now);
}

AllocHealth::Verdict AllocHealth::decide(Nanoseconds now) {
  if (verdict_ != Verdict::undecided) return verdict_;
  const bool tasks_healthy = running_since_ && now - *running_since_ >= rules_.min_healthy_time;
  const bool checks_healthy
      = !needs_checks() || (passing_since_ && now - *passing_since_ >= rules_.min_healthy_time);
  if (tasks_healthy && checks_healthy)
    verdict_ = Verdict::healthy;
  else if (now >= deadline_)
    verdict_ = Verdict::unhealthy;
  return verdict_;
}

std::optional<Nanoseconds> AllocHealth::next_tick() const {
  if (verdict_ != Verdict::undecided) return std::nullopt;
  if (!running_since_ || (needs_checks() && !passing_since_)) return deadline_;
  auto since = *running_since_;
  if (needs_checks()) since = std::max(since, *passing_since_);
  return std::min(deadline_, later(since, rules_.min_healthy_time));
}

/// By the checks of the task's services and of the group's, which are every task's.
std::string AllocHealth::explain_checks(std::string_view task) const {
  using Kind = CheckStanding::Kind;
  std::vector<std::string_view> failing;
  std::size_t wanted = 0;
  std::size_t passing = 0;
  std::size_t missing = 0;
  for (const auto& each : standings_) {
    if (!each.task.empty() && each.task != task) continue;
    ++wanted;
    if (each.kind == Kind::passing) ++passing;
    if (each.kind == Kind::missing) ++missing;
    if (each.kind == Kind::failing
        && std::find(failing.begin(), failing.end(), each.service) == failing.end())
      failing.push_back(each.service);
  }
  if (!failing.empty()) return "Services not healthy by deadline: " + join(failing, ", ");
  if (standings_.empty() || (wanted > 0 && missing == wanted))
    return "Service checks not registered";
  if (passing == wanted) return {};
  return fmt::format("Only {} out of {} checks registered and passing", passing, wanted);
}

std::string AllocHealth::explain(std::size_t task,
                                 const TaskState& state,
                                 std::int64_t unix_now,
                                 Nanoseconds now) const {
  if (alloc_failed_ || task >= tasks_.size()) return {};
  if (state.failed) return "Unhealthy because of failed task";
  const auto& about = tasks_[task];
  const auto deadline = format_duration(rules_.healthy_deadline);
  switch (state.state) {
    case TaskRunState::PENDING:
      if (about.hook == "poststop") return {};
      return "Task not running by healthy_deadline of " + deadline;
    case TaskRunState::DEAD:
      if (about.hook.empty() || about.sidecar) return "Unhealthy because of dead task";
      return {};
    case TaskRunState::RUNNING: {
      const auto until_deadline = (deadline_ - now).count();
      if (saturated_sum(state.started_at, rules_.min_healthy_time.count())
          > saturated_sum(unix_now, until_deadline))
        return fmt::format("Task not running for min_healthy_time of {} by healthy_deadline of {}",
                           format_duration(rules_.min_healthy_time), deadline);
      return needs_checks() && !passing_since_ ? explain_checks(about.name) : std::string{};
    }
  }
  return {};
}

}  // namespace nomad::workload
