#include "runtime/workload/alloc_health.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace nomad::workload {

AllocHealth::AllocHealth(HealthRules rules, std::vector<HealthTask> tasks, Nanoseconds now)
    : rules_{rules}, tasks_{std::move(tasks)}, deadline_{now + rules.healthy_deadline} {}

AllocHealth::Verdict AllocHealth::update(std::span<const TaskState* const> states,
                                         bool alloc_failed,
                                         Nanoseconds now) {
  if (verdict_ != Verdict::undecided) return verdict_;
  std::int64_t latest_start = 0;
  for (std::size_t i = 0; i < states.size() && i < tasks_.size(); ++i) {
    const auto& task = tasks_[i];
    const auto& state = *states[i];
    const bool ephemeral = !task.sidecar;
    if (ephemeral && task.hook == "poststop") continue;
    if (ephemeral && task.hook == "poststart" && state.successful()) continue;
    const bool may_end = ephemeral && task.hook == "prestart";
    if (state.failed || (state.finished_at != 0 && !may_end)) return verdict_ = Verdict::unhealthy;
    if (state.state == TaskRunState::PENDING) {
      latest_start = 0;
      break;
    }
    latest_start = std::max(latest_start, state.started_at);
  }
  alloc_failed_ = alloc_failed;
  if (alloc_failed) return verdict_ = Verdict::unhealthy;

  if (latest_start != latest_start_) {
    latest_start_ = latest_start;
    running_since_.reset();
    if (passing_since_) passing_since_ = now;
    if (latest_start != 0) running_since_ = now;
  }
  return decide(now);
}

AllocHealth::Verdict AllocHealth::checks(bool passing, Nanoseconds now) {
  if (!passing)
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
  return std::min(deadline_, since + rules_.min_healthy_time);
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
      if (state.started_at + rules_.min_healthy_time.count() > unix_now + until_deadline)
        return fmt::format("Task not running for min_healthy_time of {} by healthy_deadline of {}",
                           format_duration(rules_.min_healthy_time), deadline);
      if (needs_checks() && !passing_since_) return "Services not healthy by deadline";
      return {};
    }
  }
  return {};
}

}  // namespace nomad::workload
