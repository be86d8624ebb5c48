#include "runtime/scheduler/reconcile/alloc_sets.hpp"

#include <algorithm>

#include "runtime/base/saturated.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/reconcile/name_index.hpp"
#include "runtime/scheduler/reconcile/reschedule.hpp"

namespace nomad::scheduler {
namespace {

using schema::ClientStatus;
using schema::DesiredStatus;

/// Failures that are due within this time are dealt with at once.
constexpr std::int64_t reschedule_window = 1'000'000'000;

constexpr std::int64_t default_kill_timeout = 5'000'000'000;

/// RanSuccessfully: all tasks are dead without having failed.
bool ran_successfully(AllocView alloc) {
  for (const auto entry : alloc.task_states()) {
    const auto state = entry.getValue();
    if (state.getState() != schema::TaskRunState::DEAD || state.getFailed()) return false;
  }
  return alloc.task_states().size() > 0;
}

/// Whether its end depends on this task: a sidecar is always ended, and beside a leader all are.
bool decides_end(schema::TaskGroup::Reader group, std::string_view name) {
  bool has_leader = false;
  bool is_leader = false;
  bool is_sidecar = false;
  for (const auto task : group.getTasks()) {
    const bool is_it = view(task.getName()) == name;
    has_leader = has_leader || task.getLeader();
    is_leader = is_leader || (is_it && task.getLeader());
    is_sidecar = is_sidecar || (is_it && task.hasLifecycle() && task.getLifecycle().getSidecar());
  }
  return has_leader ? is_leader : !is_sidecar;
}

/// Whether it was told to end before it had ended by itself.
bool was_killed(schema::TaskState::Reader task) {
  bool is_over = false;
  for (const auto event : task.getEvents()) {
    const auto type = view(event.getType());
    if (type == "Terminated")
      is_over = true;
    else if (type == "Restarting" || type == "Started")
      is_over = false;
    else if (type == "Killing" && !is_over)
      return true;
  }
  return false;
}

const AllocSet& sorted(AllocSet& set) {
  std::ranges::sort(set);
  return set;
}

}  // namespace

std::string_view AllocEntry::id() const {
  return alloc().id();
}

std::string_view AllocEntry::name() const {
  return alloc().name();
}

bool was_cut_short(const AllocEntry& entry) {
  const auto alloc = entry.alloc();
  if (!alloc.wants_migration()) return false;
  const auto group = find_group(entry.job(), alloc.task_group());
  for (const auto task : alloc.task_states()) {
    if (group && !decides_end(*group, view(task.getKey()))) continue;
    if (was_killed(task.getValue())) return true;
  }
  return false;
}

AllocSet difference(const AllocSet& from, const AllocSet& without) {
  AllocSet result;
  std::ranges::set_difference(from, without, std::back_inserter(result));
  return result;
}

AllocSet united(const AllocSet& a, const AllocSet& b) {
  AllocSet result;
  result.reserve(a.size() + b.size());
  std::ranges::set_union(a, b, std::back_inserter(result));
  return result;
}

bool contains(const AllocSet& set, const AllocEntry* alloc) {
  return std::ranges::binary_search(set, alloc);
}

AllocSet filtered(const AllocSet& set, const std::function<bool(const AllocEntry&)>& keep) {
  AllocSet result;
  for (const auto* alloc : set) {
    if (keep(*alloc)) result.push_back(alloc);
  }
  return result;
}

AllocSet by_name_index(AllocSet set) {
  std::ranges::stable_sort(set, {},
                           [](const AllocEntry* alloc) { return alloc_index(alloc->name()); });
  return set;
}

bool is_older(const AllocEntry& alloc, const JobSpec& job) {
  const auto row = alloc.alloc();
  return row.job_version() < job.reader().getVersion() || !is_of(alloc, job);
}

bool is_of(const AllocEntry& alloc, const JobSpec& job) {
  return alloc.alloc().job_create_index() >= job.reader().getCreateIndex();
}

DisconnectRules disconnect_rules_of(const AllocEntry& alloc) {
  return disconnect_rules(alloc.job(), alloc.alloc().task_group());
}

bool supports_disconnect(const AllocEntry& alloc) {
  return disconnect_rules_of(alloc).tolerates_absence();
}

std::int64_t last_unknown(const AllocEntry& alloc) {
  std::int64_t last = 0;
  for (const auto state : alloc.alloc().alloc_states()) {
    if (view(state.getField()) == "client_status" && view(state.getValue()) == "unknown")
      last = std::max(last, state.getTime());
  }
  return last;
}

bool is_overdue(const AllocEntry& alloc, const DisconnectRules& rules, std::int64_t now) {
  if (!rules.lost_after || alloc.alloc().client_status() != ClientStatus::UNKNOWN) return false;
  const auto since = last_unknown(alloc);
  return since != 0 && saturated_sum(since, *rules.lost_after) <= now;
}

bool is_expired(const AllocEntry& alloc, const DisconnectRules& rules, std::int64_t now) {
  return rules.replaces && is_overdue(alloc, rules, now);
}

bool needs_reconnect(const AllocEntry& alloc) {
  std::string_view last;
  for (const auto state : alloc.alloc().alloc_states()) {
    if (view(state.getField()) == "client_status") last = view(state.getValue());
  }
  return last == "unknown";
}

namespace {

/// Where an allocation belongs because of its node, or null if that does not say.
AllocSet* by_node(const AllocEntry& entry,
                  const Object<schema::Node>& node,
                  const DisconnectRules& rules,
                  bool reconnect,
                  std::int64_t now,
                  ByTaint& sets) {
  const auto status = entry.alloc().client_status();
  if (node->getStatus() == schema::NodeStatus::DISCONNECTED) {
    if (!rules.tolerates_absence()) return entry.row->terminal() ? nullptr : &sets.lost;
    // Unlike in Nomad one that was told to end is neither awaited nor lost: nothing is to come in
    // its place.
    if (status == ClientStatus::RUNNING)
      return entry.row->server_terminal ? nullptr : &sets.disconnecting;
    if (status == ClientStatus::PENDING) return entry.row->server_terminal ? nullptr : &sets.lost;
  }
  if (node->getStatus() == schema::NodeStatus::READY && reconnect)
    return is_expired(entry, rules, now) ? &sets.lost : &sets.reconnecting;
  return nullptr;
}

AllocSet& classify(const AllocEntry& entry,
                   const TaintedNodes& tainted,
                   std::int64_t now,
                   ByTaint& sets) {
  const auto alloc = entry.alloc();
  const auto status = alloc.client_status();
  const auto rules = disconnect_rules_of(entry);
  const bool supports = rules.tolerates_absence();
  const bool may_reconnect = status == ClientStatus::UNKNOWN || status == ClientStatus::RUNNING
                             || status == ClientStatus::FAILED;
  const bool reconnect = supports && may_reconnect && needs_reconnect(entry);
  const bool wanted = alloc.desired_status() == DesiredStatus::RUN;
  if (reconnect && wanted && status == ClientStatus::FAILED) return sets.reconnecting;
  // Told to end already: its client does so when it is back, and there is nothing more to say.
  if (reconnect && entry.row->server_terminal)
    return is_expired(entry, rules, now) ? sets.lost : sets.ignore;

  const auto node = tainted.find(alloc.node_id());
  if (node != tainted.end() && node->second) {
    if (auto* set = by_node(entry, node->second, rules, reconnect, now, sets)) return *set;
  }
  // What stood in for one that came back is over; finished work counts as done.
  const bool finished = wanted && status == ClientStatus::COMPLETE;
  if (entry.row->terminal() && !reconnect)
    return supports && !finished ? sets.ignore : sets.untainted;
  if (entry.alloc().wants_migration()) return sets.migrate;
  if (supports && is_expired(entry, rules, now)) return sets.lost;
  // What would be awaited for ever is not once its node is forgotten.
  if (!rules.replaces && node != tainted.end() && !node->second) return sets.lost;
  if (supports && status == ClientStatus::UNKNOWN && wanted) return sets.untainted;
  if (node == tainted.end()) {
    if (!reconnect) return sets.untainted;
    return is_expired(entry, rules, now) ? sets.lost : sets.reconnecting;
  }
  const bool gone = !node->second || node->second->getStatus() == schema::NodeStatus::DOWN;
  if (gone && !rules.replaces && status == ClientStatus::RUNNING) return sets.disconnecting;
  return gone ? sets.lost : sets.untainted;
}

}  // namespace

ByTaint filter_by_taint(const AllocSet& set, const TaintedNodes& tainted, std::int64_t now) {
  ByTaint sets;
  for (const auto* alloc : set)
    classify(*alloc, tainted, now, sets).push_back(alloc);
  return sets;
}

namespace {

enum class Filter : std::uint8_t { candidate, untainted, ignore };

Filter judge_batch(const AllocEntry& entry) {
  const auto alloc = entry.alloc();
  switch (alloc.desired_status()) {
    case DesiredStatus::STOP:
      return ran_successfully(alloc) && !was_cut_short(entry) ? Filter::untainted : Filter::ignore;
    case DesiredStatus::EVICT:
      return Filter::ignore;
    case DesiredStatus::RUN:
      break;
  }
  return alloc.client_status() == ClientStatus::FAILED ? Filter::candidate : Filter::untainted;
}

Filter judge_service(const AllocEntry& entry) {
  const auto alloc = entry.alloc();
  if (alloc.desired_status() != DesiredStatus::RUN) return Filter::ignore;
  const auto status = alloc.client_status();
  const bool ended = status == ClientStatus::COMPLETE || status == ClientStatus::LOST;
  return ended ? Filter::ignore : Filter::candidate;
}

/// Its client is away, and this evaluation was made for its replacement.
bool is_due_since_unknown(const AllocEntry& entry, const RescheduleInput& input) {
  return entry.alloc().client_status() == ClientStatus::UNKNOWN
         && entry.alloc().followup_eval_id() == input.eval_id;
}

RescheduleTime time_of(const AllocEntry& entry, const RescheduleInput& input) {
  const auto alloc = entry.alloc();
  const auto group = find_group(entry.job(), alloc.task_group());
  if (!input.disconnecting && !is_due_since_unknown(entry, input))
    return reschedule_time(alloc, entry.job());
  if (!group || !group->hasReschedulePolicy()) return {};
  const auto since = input.disconnecting ? input.now : last_unknown(entry);
  return reschedule_time(alloc, group->getReschedulePolicy(), since);
}

void place_candidate(const AllocEntry* entry, const RescheduleInput& input, ByReschedule& sets) {
  const auto alloc = entry->alloc();
  const bool in_deployment
      = !input.active_deployment.empty() && alloc.deployment_id() == input.active_deployment;
  const bool forced = entry->alloc().forces_reschedule();
  // The deployment's watcher decides about its own allocations.
  if (in_deployment && !entry->alloc().wants_reschedule()) {
    sets.untainted.push_back(entry);
    return;
  }
  const bool is_awaited = input.disconnecting || is_due_since_unknown(*entry, input);
  if (is_awaited && !disconnect_rules_of(*entry).replaces) {
    sets.untainted.push_back(entry);
    return;
  }
  const auto due = time_of(*entry, input);
  const bool own_followup = !input.eval_id.empty() && alloc.followup_eval_id() == input.eval_id;
  if (forced || (due.eligible && (own_followup || due.time - input.now <= reschedule_window))) {
    sets.now.push_back(entry);
    return;
  }
  sets.untainted.push_back(entry);
  if (due.eligible && (alloc.followup_eval_id().empty() || input.disconnecting))
    sets.later.push_back({entry, due.time});
}

}  // namespace

ByReschedule filter_by_reschedule(const AllocSet& set, const RescheduleInput& input) {
  ByReschedule sets;
  for (const auto* entry : set) {
    const auto alloc = entry->alloc();
    if (input.disconnecting && alloc.client_status() == ClientStatus::UNKNOWN) continue;
    if (!alloc.next().empty() && entry->row->terminal()) continue;
    switch (input.is_batch ? judge_batch(*entry) : judge_service(*entry)) {
      case Filter::ignore:
        break;
      case Filter::untainted:
        // Batch work on a node that is away is looked at as services are.
        if (input.disconnecting || is_due_since_unknown(*entry, input))
          place_candidate(entry, input, sets);
        else
          sets.untainted.push_back(entry);
        break;
      case Filter::candidate:
        place_candidate(entry, input, sets);
        break;
    }
  }
  sorted(sets.untainted);
  return sets;
}

std::vector<Delayed> delayed_by_client_stop(const AllocSet& lost, std::int64_t now) {
  std::vector<Delayed> delayed;
  for (const auto* entry : lost) {
    const auto alloc = entry->alloc();
    const auto group = find_group(entry->job(), alloc.task_group());
    if (!group) continue;
    const auto patience = disconnect_rules(*group).stop_on_client_after.value_or(0);
    if (patience == 0) continue;
    std::int64_t since = now;
    for (const auto state : alloc.alloc_states()) {
      if (view(state.getField()) != "client_status" || view(state.getValue()) != "lost") continue;
      since = state.getTime();
      break;
    }
    std::int64_t kill_timeout = default_kill_timeout;
    for (const auto task : group->getTasks())
      kill_timeout = std::max(kill_timeout, task.getKillTimeout());
    const auto until = saturated_sum(saturated_sum(since, patience), kill_timeout);
    if (until > now) delayed.push_back({entry, until});
  }
  return delayed;
}

}  // namespace nomad::scheduler
