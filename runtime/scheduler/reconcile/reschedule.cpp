#include "runtime/scheduler/reconcile/reschedule.hpp"

#include <algorithm>

#include "runtime/base/saturated.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::scheduler {
namespace {

/// How many events an unlimited policy keeps.
constexpr unsigned kept_events = 5;

using Events = capnp::List<schema::RescheduleEvent>::Reader;

std::int64_t fibonacci_delay(Events events, schema::ReschedulePolicy::Reader policy) {
  const auto count = events.size();
  if (count == 1) return policy.getDelay();
  const auto last = events[count - 1].getDelay();
  const auto before = events[count - 2].getDelay();
  // The series was just started anew.
  if (before == policy.getMaxDelay() && last == policy.getDelay()) return policy.getDelay();
  return saturated_sum(last, before);
}

}  // namespace

std::optional<schema::TaskGroup::Reader> find_group(schema::Job::Reader job,
                                                    std::string_view group) {
  for (const auto candidate : job.getTaskGroups()) {
    if (view(candidate.getName()) == group) return candidate;
  }
  return std::nullopt;
}

std::int64_t fail_time(AllocView alloc) {
  std::int64_t last = 0;
  for (const auto entry : alloc.task_states())
    last = std::max(last, entry.getValue().getFinishedAt());
  return last != 0 ? last : alloc.modify_time();
}

std::int64_t next_delay(AllocView alloc, schema::ReschedulePolicy::Reader policy) {
  const auto events = alloc.reschedule_events();
  if (events.size() == 0) return policy.getDelay();
  const auto function = view(policy.getDelayFunction());
  const auto last = events[events.size() - 1];
  std::int64_t delay = policy.getDelay();
  if (function == "exponential")
    delay = saturated_sum(last.getDelay(), last.getDelay());
  else if (function == "fibonacci")
    delay = fibonacci_delay(events, policy);
  else
    return delay;
  const auto most = policy.getMaxDelay();
  if (most <= 0 || delay <= most) return delay;
  // It ran well for long enough: a new series of delays begins.
  const bool healed = fail_time(alloc) - last.getRescheduleTime() > most;
  return healed ? policy.getDelay() : most;
}

RescheduleTime reschedule_time(AllocView alloc,
                               schema::ReschedulePolicy::Reader policy,
                               std::int64_t failed_at) {
  const auto delay = next_delay(alloc, policy);
  // A delay of centuries ends never, not at once.
  RescheduleTime result{saturated_sum(failed_at, delay), policy.getUnlimited()};
  if (policy.getAttempts() <= 0 || policy.getUnlimited()) return result;
  std::int64_t attempted = 0;
  for (const auto event : alloc.reschedule_events()) {
    if (failed_at - event.getRescheduleTime() < policy.getInterval()) ++attempted;
  }
  const bool first = alloc.reschedule_events().size() == 0;
  result.eligible = first || (attempted < policy.getAttempts() && delay < policy.getInterval());
  return result;
}

RescheduleTime reschedule_time(AllocView alloc, schema::Job::Reader job) {
  const auto group = find_group(job, alloc.task_group());
  if (!group || !group->hasReschedulePolicy()) return {};
  if (alloc.desired_status() == schema::DesiredStatus::STOP) return {};
  if (alloc.client_status() != schema::ClientStatus::FAILED) return {};
  return reschedule_time(alloc, group->getReschedulePolicy(), fail_time(alloc));
}

std::vector<RescheduleEvent> reschedule_history(AllocView previous,
                                                schema::Job::Reader job,
                                                std::int64_t now) {
  std::vector<RescheduleEvent> history;
  const auto group = find_group(job, previous.task_group());
  const auto policy = group ? group->getReschedulePolicy() : schema::ReschedulePolicy::Reader{};
  const auto events = previous.reschedule_events();
  const unsigned first
      = policy.getAttempts() > 0 || events.size() <= kept_events ? 0 : events.size() - kept_events;
  for (unsigned i = first; i < events.size(); ++i) {
    const auto event = events[i];
    if (policy.getAttempts() > 0 && now - event.getRescheduleTime() > policy.getInterval())
      continue;
    history.push_back({event.getRescheduleTime(), view(event.getPrevAllocId()),
                       view(event.getPrevNodeId()), event.getDelay()});
  }
  history.push_back({now, previous.id(), previous.node_id(), next_delay(previous, policy)});
  return history;
}

}  // namespace nomad::scheduler
