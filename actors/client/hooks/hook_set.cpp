#include "actors/client/hooks/hook_set.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/failpoint.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/enum_name.hpp"

namespace nomad::client {

const HookScope& HookSet::scope() const {
  if (!scope_.alloc) scope_ = owner_.hook_scope();
  return scope_;
}

bool HookSet::is_wanted(std::size_t position) const {
  const auto& entry = entries_[position];
  return !entry.wanted || entry.wanted(scope());
}

bool HookSet::is_asked(std::size_t position, HookPhase phase) const {
  return entries_[position].phases.contains(phase) && is_wanted(position);
}

bool HookSet::lives(std::size_t position) const {
  const auto found = hooks_.find(position);
  return found != hooks_.end() && found->second.actor;
}

bool HookSet::owes(std::size_t position) const {
  const auto found = hooks_.find(position);
  return found != hooks_.end() && !found->second.open.empty();
}

void HookSet::forget_if_idle(std::size_t position) {
  const auto found = hooks_.find(position);
  if (found != hooks_.end() && found->second.is_idle()) hooks_.erase(found);
  if (hooks_.empty()) scope_ = {};
}

const Hook& HookSet::actor_of(std::size_t position) {
  auto& actor = hooks_[position].actor;
  if (!actor) actor = entries_[position].spawn(self_, owner_.agent(), scope());
  return actor;
}

void Environments::write(schema::plugin::HookRequest::Builder request) const {
  own.write(request.initEnvironment());
  auto entries = request.initTasks(static_cast<unsigned>(of_tasks.size()));
  for (unsigned i = 0; const auto& [task, env] : of_tasks) {
    entries[i].setKey(text(task));
    env.write(entries[i++].initValue());
  }
}

EnvironmentsRef HookSet::environments_for(const HookEntry& entry,
                                          schema::plugin::HookRequest::Builder request) const {
  if (!entry.reads_environment.contains(request.getPhase())
      || (entry.needs_environment && !entry.needs_environment(scope())))
    return {};
  auto environments = std::make_shared<const Environments>(owner_.environments());
  if (!entry.is_told_in_bytes) return environments;
  environments->write(request);
  return {};
}

void HookSet::ask(std::size_t position, HookPhase phase, Then then) {
  NOMAD_FAILPOINT(fmt::format("hook.{}.{}", entries_[position].name, enum_name(phase)));
  const auto deadline = entries_[position].deadline(phase);
  Draft<schema::plugin::HookRequest> request;
  request->setPhase(phase);
  request->setDeadline(deadline.count());
  owner_.fill(entries_[position], *request);
  auto environments = environments_for(entries_[position], *request);
  const auto ticket = ++tickets_;
  hooks_[position].open.emplace(ticket, std::move(then));
  self_
      ->request(actor_of(position), deadline,
                hook::Run{request.freeze(), scope().alloc, scope().job, std::move(environments)})
      .then(
          [this, position, ticket, phase](hook::Answered& answered) {
            settle(position, ticket, phase, std::move(answered.answer));
          },
          [this, position, ticket, phase](const Error& err) {
            if (err.code == Errc::timeout && owes(position)
                && hooks_[position].open.contains(ticket))
              give_up(position, {Errc::timeout, "it did not answer in time"});
            else
              settle(position, ticket, phase, err);
          });
}

void HookSet::settle(std::size_t position,
                     std::uint64_t ticket,
                     HookPhase phase,
                     const Answer& answer) {
  const auto found = hooks_.find(position);
  if (found == hooks_.end()) return;
  const auto open = found->second.open.extract(ticket);
  if (open.empty()) return;  // Given up, or answered before.
  NOMAD_FAILPOINT(fmt::format("hook.{}.{}.answered", entries_[position].name, enum_name(phase)));
  const auto& entry = entries_[position];
  const bool goes_on = !entry.keeps_nothing && entry.phases.live_past(phase);
  if (found->second.open.empty() && !goes_on && !entry.watches_tasks) end(position);
  open.mapped()(answer);
  forget_if_idle(position);
}

void HookSet::end(std::size_t position) {
  actor::stop(std::exchange(hooks_[position].actor, {}));
}

/// It has had its time: whatever it owes is answered for it.
void HookSet::give_up(std::size_t position, const Error& why) {
  auto& slot = hooks_[position];
  actor::kill(std::exchange(slot.actor, {}));
  for (auto& [ticket, then] : std::exchange(slot.open, {}))
    then(why);
  forget_if_idle(position);
}

void HookSet::ask_from(std::size_t position,
                       HookPhase phase,
                       Failed failed,
                       std::function<void()> then) {
  while (position < entries_.size() && !is_asked(position, phase))
    ++position;
  if (position == entries_.size()) {
    then();
    return;
  }
  ask(position, phase, [this, position, phase, failed, then](const Answer& answer) {
    if (!answer) failed(entries_[position], answer.error());
    ask_from(position + 1, phase, failed, then);
  });
}

void HookSet::update(Failed failed) {
  for (std::size_t position = 0; position < entries_.size(); ++position) {
    const auto& entry = entries_[position];
    const bool wanted = is_wanted(position);
    if (entry.phases.contains(HookPhase::UPDATE) && (lives(position) || wanted)) {
      update_one(position, failed);
    } else if (lives(position) && !wanted && !owes(position)) {
      end(position);
      forget_if_idle(position);
    }
  }
}

void HookSet::update_one(std::size_t position, const Failed& failed) {
  auto& slot = hooks_[position];
  if (slot.updating) {
    slot.next_update = [this, position, failed] { update_one(position, failed); };
    return;
  }
  slot.updating = true;
  ask(position, HookPhase::UPDATE, [this, position, failed](const Answer& answer) {
    auto& slot = hooks_[position];
    slot.updating = false;
    if (!answer) failed(entries_[position], answer.error());
    if (const auto next = std::exchange(slot.next_update, {}))
      next();
    else if (slot.open.empty() && !is_wanted(position))
      end(position);
  });
}

void HookSet::cancel(std::size_t position) {
  if (!lives(position) || !owes(position)) return;
  const auto& slot = hooks_[position];
  const auto last = slot.open.rbegin()->first;
  self_->request(slot.actor, hook::cancel_grace, hook::Cancel{}, actor::Priority::urgent)
      .then([](const hook::Settled&) {},
            [this, position, last](const Error&) {
              if (owes(position) && hooks_[position].open.begin()->first <= last)
                give_up(position, {Errc::cancelled, "it was cancelled and did not answer"});
            });
}

void HookSet::cancel_all() {
  for (std::size_t position = 0; position < entries_.size(); ++position)
    cancel(position);
}

bool HookSet::is_watched() const {
  return std::ranges::any_of(hooks_, [this](const auto& each) {
    return entries_[each.first].watches_tasks && each.second.actor;
  });
}

void HookSet::tell(const hook::TasksChanged& change) {
  for (auto& [position, slot] : hooks_)
    if (entries_[position].watches_tasks && slot.actor) slot.news.tell(self_, slot.actor, change);
}

/// What is asked now comes behind what was told, and the answer behind what they said to it.
void HookSet::dismiss_watchers(const std::function<void()>& then) {
  const auto open = std::make_shared<std::size_t>(1);
  const auto one = [open, then] {
    if (--*open == 0) then();
  };
  for (auto& [position, slot] : hooks_) {
    if (!entries_[position].watches_tasks || !slot.actor) continue;
    ++*open;
    slot.news.flush(self_);
    self_->request(slot.actor, hook::cancel_grace, hook::Cancel{})
        .then([one](const hook::Settled&) { one(); }, [one](const Error&) { one(); });
  }
  one();
}

void HookSet::child_down(const actor::Down& down) {
  for (auto& [position, slot] : hooks_)
    if (slot.actor && slot.actor.address() == down.source) slot.actor = {};
  std::erase_if(hooks_, [](const auto& each) { return each.second.is_idle(); });
  if (hooks_.empty()) scope_ = {};
}

void HookSet::stop() {
  for (auto& [position, slot] : std::exchange(hooks_, {})) {
    slot.open.clear();
    actor::stop(std::exchange(slot.actor, {}));
  }
}

}  // namespace nomad::client
