#include "runtime/workload/volumes/volume_machine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace nomad::workload {

namespace {

using namespace std::chrono_literals;
using namespace volume_action;

// As Nomad's: a claim is tried for a day, and a plugin is waited for a minute.
constexpr Nanoseconds first_pause = 1s;
constexpr Nanoseconds longest_pause = 1min;
constexpr Nanoseconds claim_patience = 24h;
constexpr Nanoseconds plugin_patience = 1min;
constexpr Nanoseconds first_step_pause = 200ms;
constexpr unsigned most_step_tries = 3;

bool is_going(const VolumeRow& row) {
  return row.phase == VolumeRow::Phase::leaving || row.phase == VolumeRow::Phase::releasing;
}

}  // namespace

// -- what is known -------------------------------------------------------------------------------

VolumeMachine::Use* VolumeMachine::of(Operation operation, Doing doing) {
  for (auto& [key, use] : uses_)
    if (use.operation == operation && use.doing == doing) return &use;
  return nullptr;
}

std::string VolumeMachine::staging_of(const Use& use) const {
  return use.row.directory + '/' + staging_path(use.row);
}

/// Whether what is staged has to stay for it.
bool VolumeMachine::is_user(const Use& use) const {
  return use.is_known_touched && !use.was_unpublished
         && use.row.phase != VolumeRow::Phase::releasing;
}

const VolumeRow* VolumeMachine::find_mounted(const std::string& alloc,
                                             const std::string& volume) const {
  const auto found = uses_.find(alloc + '/' + volume);
  if (found == uses_.end() || found->second.doing != Doing::mounted) return nullptr;
  return &found->second.row;
}

void VolumeMachine::restore(std::vector<VolumeRow> rows,
                            const std::set<std::string>& allocs,
                            Time now) {
  for (auto& row : rows) {
    auto key = row.key();
    const bool is_known = allocs.contains(row.spec.alloc);
    auto& use = uses_[std::move(key)];
    use.row = std::move(row);
    use.is_known_touched = use.row.touched;
    use.wanted = is_known && !is_going(use.row);
    if (use.row.phase == VolumeRow::Phase::releasing)
      begin_release(use);
    else if (use.row.phase == VolumeRow::Phase::leaving)
      begin_look(use);
    else if (!is_known)
      begin_taking_down(use);
  }
  static_cast<void>(now);
  wait();
}

// -- what is wanted ------------------------------------------------------------------------------

void VolumeMachine::acquire(const MountSpec& spec, Ticket ticket, Time now) {
  const auto [found, is_new] = uses_.try_emplace(spec.alloc + '/' + spec.volume);
  auto& use = found->second;
  if (is_new) {
    use.row.spec = spec;
    use.give_up = now + claim_patience;
    save(use, Next::claim);
  } else if (!use.wanted) {
    actions_.emplace_back(Answer{
        ticket,
        Error{Errc::unavailable,
              fmt::format("volume {} is being given back by this allocation", spec.volume)}});
    return;
  } else if (!(use.row.spec == spec)) {
    actions_.emplace_back(Answer{
        ticket, Error{Errc::conflict,
                      fmt::format("the group asks for volume {} in two ways", spec.volume)}});
    return;
  } else if (use.doing == Doing::mounted) {
    actions_.emplace_back(Answer{ticket, {}});
    return;
  } else if (use.doing == Doing::nothing) {
    use.give_up = now + claim_patience;
    if (use.row.touched)
      begin_look(use);  // (4)
    else
      begin_claim(use);
  }
  await(use.acquirers, ticket);
  wait();
}

void VolumeMachine::cancel(Ticket ticket, Time now) {
  for (auto& [key, use] : uses_) {
    const auto found = std::find(use.acquirers.begin(), use.acquirers.end(), ticket);
    if (found == use.acquirers.end()) continue;
    std::vector<Ticket> one{ticket};
    use.acquirers.erase(found);
    answer(one, Error{Errc::cancelled, "it is not wanted any more"});
    if (use.acquirers.empty()) unwant(use, now);
    break;
  }
  wait();
}

void VolumeMachine::drop(const std::string& alloc, Ticket ticket, Time now) {
  open_[ticket];
  for (auto& [key, use] : uses_) {
    if (use.row.spec.alloc != alloc) continue;
    if (!use.has_told) await(use.droppers, ticket);
    answer(use.acquirers, Error{Errc::cancelled, "its allocation is over"});
    unwant(use, now);
  }
  answer_if_settled(ticket);
  wait();
}

void VolumeMachine::detach(const std::string& ns,
                           const std::string& volume,
                           const std::string& alloc,
                           Ticket ticket,
                           Time now) {
  auto& open = open_[ticket];
  for (auto& [key, use] : uses_) {
    const auto& spec = use.row.spec;
    if (spec.ns != ns || spec.volume != volume || (!alloc.empty() && spec.alloc != alloc)) continue;
    if (use.wanted) {
      if (!alloc.empty())
        open.outcome = Error{Errc::conflict, fmt::format("allocation {} uses it", alloc)};
      continue;
    }
    if (use.row.phase == VolumeRow::Phase::releasing) continue;
    await(use.detachers, ticket);
    if (use.doing == Doing::pausing) go_on(use, use.next, now);
  }
  answer_if_settled(ticket);
  wait();
}

/// What it has begun ends, and is taken down then.
void VolumeMachine::unwant(Use& use, Time now) {
  static_cast<void>(now);
  if (!std::exchange(use.wanted, false)) return;
  switch (use.doing) {
    case Doing::claiming:
    case Doing::staging:
    case Doing::publishing:
      actions_.emplace_back(Cancel{use.operation});
      return;
    case Doing::saving:
    case Doing::looking:
      return;
    default:
      return begin_taking_down(use);
  }
}

// -- up ------------------------------------------------------------------------------------------

void VolumeMachine::save(Use& use, Next next) {
  use.doing = Doing::saving;
  use.next = next;
  actions_.emplace_back(Save{use.row, next_operation(use)});
}

void VolumeMachine::saved(Operation operation, Time now) {
  if (auto* const use = of(operation, Doing::saving)) {
    use->is_known_touched = use->row.touched;
    if (!use->wanted && !is_going(use->row))
      begin_taking_down(*use);
    else
      go_on(*use, use->next, now);
  }
  wait();
}

void VolumeMachine::go_on(Use& use, Next next, Time now) {
  switch (next) {
    case Next::claim:
      return begin_claim(use);
    case Next::look:
      return begin_look(use);
    case Next::stage:
      return stage_or_publish(use, now);
    case Next::publish:
      return begin(use, Step::publish, Doing::publishing);
    case Next::take_down:
      return take_down(use, now);
    case Next::release:
      return begin_release(use);
  }
}

void VolumeMachine::begin_claim(Use& use) {
  use.doing = Doing::claiming;
  actions_.emplace_back(Claim{use.row, next_operation(use)});
}

void VolumeMachine::claimed(Operation operation, const Claimed& what, Time now) {
  if (auto* const use = of(operation, Doing::claiming)) {
    use->is_claimed = true;
    if (!use->wanted) {
      begin_taking_down(*use);
    } else {
      use->row.plugin = what.plugin;
      use->row.external = what.external;
      awaits_plugin(*use, now);
    }
  }
  wait();
}

void VolumeMachine::not_claimed(Operation operation, const Refusal& why, Time now) {
  if (auto* const use = of(operation, Doing::claiming)) {
    if (!use->wanted)
      begin_taking_down(*use);
    else if (why.passes && now < use->give_up)
      pause(*use, Next::claim, now, first_pause, longest_pause);
    else
      fail(*use, why.why.within("claiming volumes"), now);
  }
  wait();
}

void VolumeMachine::awaits_plugin(Use& use, Time now) {
  use.doing = Doing::awaiting_plugin;
  use.due = now + plugin_patience;
  use.tries = 0;
  mount(use, now);
}

/// Once its plugin is there.
void VolumeMachine::mount(Use& use, Time now) {
  static_cast<void>(now);
  const auto plugin = plugins_.find(use.row.plugin);
  if (plugin == plugins_.end()) return;
  use.row.directory = plugin->second.directory;
  use.row.stages = plugin->second.stages;
  use.row.touched = true;
  use.row.phase = VolumeRow::Phase::mounting;
  save(use, Next::look);  // (1)
}

void VolumeMachine::begin_look(Use& use) {
  use.doing = Doing::looking;
  use.unstagings = stagings_[staging_of(use)].unstagings;
  actions_.emplace_back(Look{use.row, next_operation(use)});
}

void VolumeMachine::looked(Operation operation, Mounted mounted, Time now) {
  if (auto* const use = of(operation, Doing::looking)) {
    use->mounted = mounted;
    // What was seen before something was unstaged is void.
    const bool is_old = stagings_[staging_of(*use)].unstagings != use->unstagings;
    if (is_old)
      begin_look(*use);
    else if (use->row.phase == VolumeRow::Phase::leaving)
      take_down(*use, now);
    else if (!use->wanted)
      begin_taking_down(*use);
    else if (mounted.target)
      finished(*use);
    else if (!use->is_claimed)
      begin_claim(*use);
    else
      stage_or_publish(*use, now);
  }
  wait();
}

void VolumeMachine::stage_or_publish(Use& use, Time now) {
  static_cast<void>(now);
  if (!use.row.stages) return begin(use, Step::publish, Doing::publishing);
  auto& staging = stagings_[staging_of(use)];
  if (staging.is_busy) {  // (2)
    use.doing = Doing::awaiting_stage;
    use.mounted.staging = false;
    return;
  }
  staging.is_staged = staging.is_staged || use.mounted.staging;
  if (staging.is_staged) return begin(use, Step::publish, Doing::publishing);
  staging.is_busy = true;
  begin(use, Step::stage, Doing::staging);
}

void VolumeMachine::begin(Use& use, Step step, Doing doing) {
  use.doing = doing;
  actions_.emplace_back(Do{step, use.row, next_operation(use)});
}

void VolumeMachine::finished(Use& use) {
  use.doing = Doing::mounted;
  use.tries = 0;
  actions_.emplace_back(Tell{use.row, true, {}});
  answer(use.acquirers, {});
}

void VolumeMachine::stage_is_free(const std::string& staging, Time now) {
  stagings_[staging].is_busy = false;
  for (auto& [key, use] : uses_)
    if (use.doing == Doing::awaiting_stage && staging_of(use) == staging)
      stage_or_publish(use, now);
}

void VolumeMachine::done(Operation operation, const std::optional<Refusal>& refusal, Time now) {
  if (auto* const staging = of(operation, Doing::staging)) {
    const auto where = staging_of(*staging);
    stagings_[where].is_staged = !refusal;
    if (!staging->wanted)
      begin_taking_down(*staging);
    else if (refusal)
      refused(*staging, Next::stage, *refusal, now);
    else
      begin(*staging, Step::publish, Doing::publishing);
    stage_is_free(where, now);
  } else if (auto* const publishing = of(operation, Doing::publishing)) {
    if (!publishing->wanted)
      begin_taking_down(*publishing);
    else if (refusal)
      refused(*publishing, Next::publish, *refusal, now);
    else
      finished(*publishing);
  } else if (auto* const unpublishing = of(operation, Doing::unpublishing)) {
    if (refusal) {
      not_down(*unpublishing, refusal->why, now);
    } else {
      unpublishing->was_unpublished = true;
      unstage_or_release(*unpublishing, now);
    }
  } else if (auto* const unstaging = of(operation, Doing::unstaging)) {
    const auto where = staging_of(*unstaging);
    stagings_[where].is_staged = false;  // also after a refusal: nothing is known then
    ++stagings_[where].unstagings;
    if (refusal) {
      not_down(*unstaging, refusal->why, now);
    } else {
      gone(*unstaging, now);
    }
    stage_is_free(where, now);
  }
  wait();
}

void VolumeMachine::refused(Use& use, Next again, const Refusal& why, Time now) {
  if (why.passes && use.tries + 1 < most_step_tries)
    return pause(use, again, now, first_step_pause, longest_pause);
  fail(use, why.why.within("mounting volumes"), now);
}

void VolumeMachine::fail(Use& use, const Error& why, Time now) {
  static_cast<void>(now);
  actions_.emplace_back(Tell{use.row, true, why});
  answer(use.acquirers, why);
  use.wanted = false;
  begin_taking_down(use);
}

// -- down ----------------------------------------------------------------------------------------

void VolumeMachine::begin_taking_down(Use& use) {
  use.wanted = false;
  use.tries = 0;
  use.row.phase = use.row.touched ? VolumeRow::Phase::leaving : VolumeRow::Phase::releasing;
  save(use, use.row.touched ? Next::look : Next::release);
}

void VolumeMachine::take_down(Use& use, Time now) {
  if (use.was_unpublished && !use.mounted.target) return unstage_or_release(use, now);
  if (plugins_.contains(use.row.plugin)) return begin(use, Step::unpublish, Doing::unpublishing);
  if (use.mounted.target)
    return not_down(use,
                    {Errc::unavailable,
                     fmt::format("CSI plugin {} is not healthy on this node", use.row.plugin)},
                    now);
  use.was_unpublished = true;
  unstage_or_release(use, now);
}

void VolumeMachine::unstage_or_release(Use& use, Time now) {
  const auto where = staging_of(use);
  const bool has_users = std::any_of(uses_.begin(), uses_.end(), [&](const auto& other) {
    return &other.second != &use && is_user(other.second) && staging_of(other.second) == where;
  });
  auto& staging = stagings_[where];
  // One that is being unstaged for another use is that one's to see to.
  if (!use.row.stages || has_users || staging.is_busy) return gone(use, now);
  if (!plugins_.contains(use.row.plugin)) {
    if (!use.mounted.staging) return gone(use, now);
    return not_down(use,
                    {Errc::unavailable,
                     fmt::format("CSI plugin {} is not healthy on this node", use.row.plugin)},
                    now);
  }
  staging.is_busy = true;
  ++staging.unstagings;
  begin(use, Step::unstage, Doing::unstaging);
}

void VolumeMachine::not_down(Use& use, const Error& why, Time now) {
  if (!std::exchange(use.has_told, true)) {  // (3)
    actions_.emplace_back(Tell{use.row, false, why});
    actions_.emplace_back(Release{use.row, false, 0});
  }
  answer(use.droppers, {});
  answer(use.detachers, Error{Errc::unavailable, why.what});
  pause(use, Next::look, now, first_pause, longest_pause);
}

/// Nothing of it is mounted.
void VolumeMachine::gone(Use& use, Time now) {
  static_cast<void>(now);
  actions_.emplace_back(Tell{use.row, false, {}});
  use.row.phase = VolumeRow::Phase::releasing;
  use.tries = 0;
  save(use, Next::release);
}

void VolumeMachine::begin_release(Use& use) {
  use.doing = Doing::releasing;
  answer(use.detachers, {});
  actions_.emplace_back(Release{use.row, true, next_operation(use)});
}

void VolumeMachine::released(Operation operation, bool is_known, Time now) {
  if (auto* const use = of(operation, Doing::releasing)) {
    auto droppers = std::exchange(use->droppers, {});
    if (is_known) {
      const auto key = use->row.key();
      const auto where = staging_of(*use);
      actions_.emplace_back(Erase{key});
      uses_.erase(key);
      if (std::none_of(uses_.begin(), uses_.end(),
                       [&](const auto& other) { return staging_of(other.second) == where; }))
        stagings_.erase(where);
    } else {
      use->has_told = true;  // Nobody waits for the next try.
      pause(*use, Next::release, now, first_pause, longest_pause);
    }
    answer(droppers, {});
  }
  wait();
}

// -- plugins and time ----------------------------------------------------------------------------

void VolumeMachine::plugin(const std::string& id, const std::optional<Plugin>& stands, Time now) {
  if (!stands) {
    plugins_.erase(id);
    return;
  }
  plugins_[id] = *stands;
  for (auto& [key, use] : uses_) {
    if (use.row.plugin != id) continue;
    if (use.doing == Doing::awaiting_plugin)
      mount(use, now);
    else if (use.doing == Doing::pausing && use.row.phase == VolumeRow::Phase::leaving)
      go_on(use, use.next, now);
  }
  wait();
}

void VolumeMachine::pause(Use& use, Next next, Time now, Nanoseconds first, Nanoseconds most) {
  const auto doublings = std::min(use.tries++, 10U);
  use.doing = Doing::pausing;
  use.next = next;
  use.due = now + std::min(first * (1U << doublings), most);
}

void VolumeMachine::look(Time now) {
  waits_until_.reset();
  for (auto& [key, use] : uses_) {
    if (use.due > now) continue;
    if (use.doing == Doing::pausing)
      go_on(use, use.next, now);
    else if (use.doing == Doing::awaiting_plugin)
      fail(use,
           {Errc::unavailable,
            fmt::format("mounting volumes: CSI plugin {} is not healthy on this node",
                        use.row.plugin)},
           now);
  }
  wait();
}

void VolumeMachine::wait() {
  std::optional<Time> due;
  for (const auto& [key, use] : uses_)
    if (use.doing == Doing::pausing || use.doing == Doing::awaiting_plugin)
      due = due ? std::min(*due, use.due) : use.due;
  if (due == waits_until_) return;
  waits_until_ = due;
  if (due) actions_.emplace_back(Wait{*due});
}

// -- tickets -------------------------------------------------------------------------------------

void VolumeMachine::await(std::vector<Ticket>& tickets, Ticket ticket) {
  tickets.push_back(ticket);
  ++open_[ticket].uses;
}

void VolumeMachine::answer(std::vector<Ticket>& tickets, const Result<>& outcome) {
  for (const auto ticket : std::exchange(tickets, {})) {
    auto& open = open_[ticket];
    --open.uses;
    if (open.outcome && !outcome) open.outcome = outcome;
    answer_if_settled(ticket);
  }
}

void VolumeMachine::answer_if_settled(Ticket ticket) {
  const auto found = open_.find(ticket);
  if (found == open_.end() || found->second.uses > 0) return;
  actions_.emplace_back(volume_action::Answer{ticket, found->second.outcome});
  open_.erase(found);
}

}  // namespace nomad::workload
