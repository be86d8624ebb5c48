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

bool HookSet::is_wanted(std::size_t place) const {
  const auto& entry = entries_[place];
  return !entry.wanted || entry.wanted(scope());
}

bool HookSet::is_asked(std::size_t place, HookPhase phase) const {
  return entries_[place].phases.contains(phase) && is_wanted(place);
}

bool HookSet::lives(std::size_t place) const {
  const auto found = hooks_.find(place);
  return found != hooks_.end() && found->second.actor;
}

bool HookSet::owes(std::size_t place) const {
  const auto found = hooks_.find(place);
  return found != hooks_.end() && !found->second.open.empty();
}

void HookSet::forget_if_idle(std::size_t place) {
  const auto found = hooks_.find(place);
  if (found != hooks_.end() && found->second.is_idle()) hooks_.erase(found);
  if (hooks_.empty()) scope_ = {};
}

const Hook& HookSet::actor_of(std::size_t place) {
  auto& actor = hooks_[place].actor;
  if (!actor) actor = entries_[place].spawn(self_, owner_.agent(), scope());
  return actor;
}

void HookSet::ask(std::size_t place, HookPhase phase, Then then) {
  NOMAD_FAILPOINT(fmt::format("hook.{}.{}", entries_[place].name, enum_name(phase)));
  const auto deadline = entries_[place].deadline(phase);
  Draft<schema::plugin::HookRequest> request;
  request->setPhase(phase);
  request->setDeadline(deadline.count());
  owner_.fill(entries_[place], *request);
  const auto ticket = ++tickets_;
  hooks_[place].open.emplace(ticket, std::move(then));
  self_->request(actor_of(place), deadline, hook::Run{request.freeze(), scope().alloc, scope().job})
      .then(
          [this, place, ticket, phase](hook::Answered& answered) {
            settle(place, ticket, phase, std::move(answered.answer));
          },
          [this, place, ticket, phase](const Error& err) {
            if (err.code == Errc::timeout && owes(place) && hooks_[place].open.contains(ticket))
              give_up(place, {Errc::timeout, "it did not answer in time"});
            else
              settle(place, ticket, phase, err);
          });
}

void HookSet::settle(std::size_t place,
                     std::uint64_t ticket,
                     HookPhase phase,
                     const Answer& answer) {
  const auto found = hooks_.find(place);
  if (found == hooks_.end()) return;
  const auto open = found->second.open.extract(ticket);
  if (open.empty()) return;  // Given up, or answered before.
  NOMAD_FAILPOINT(fmt::format("hook.{}.{}.answered", entries_[place].name, enum_name(phase)));
  const auto& entry = entries_[place];
  const bool goes_on = !entry.keeps_nothing && entry.phases.live_past(phase);
  if (found->second.open.empty() && !goes_on && !entry.watches_tasks) end(place);
  open.mapped()(answer);
  forget_if_idle(place);
}

void HookSet::end(std::size_t place) {
  actor::stop(std::exchange(hooks_[place].actor, {}));
}

/// It has had its time: whatever it owes is answered for it.
void HookSet::give_up(std::size_t place, const Error& why) {
  auto& slot = hooks_[place];
  actor::kill(std::exchange(slot.actor, {}));
  for (auto& [ticket, then] : std::exchange(slot.open, {}))
    then(why);
  forget_if_idle(place);
}

void HookSet::ask_from(std::size_t place,
                       HookPhase phase,
                       Failed failed,
                       std::function<void()> then) {
  while (place < entries_.size() && !is_asked(place, phase))
    ++place;
  if (place == entries_.size()) {
    then();
    return;
  }
  ask(place, phase, [this, place, phase, failed, then](const Answer& answer) {
    if (!answer) failed(entries_[place], answer.error());
    ask_from(place + 1, phase, failed, then);
  });
}

void HookSet::update(Failed failed) {
  for (std::size_t place = 0; place < entries_.size(); ++place) {
    const auto& entry = entries_[place];
    const bool wanted = is_wanted(place);
    if (entry.phases.contains(HookPhase::UPDATE) && (lives(place) || wanted)) {
      update_one(place, failed);
    } else if (lives(place) && !wanted && !owes(place)) {
      end(place);
      forget_if_idle(place);
    }
  }
}

void HookSet::update_one(std::size_t place, const Failed& failed) {
  auto& slot = hooks_[place];
  if (slot.updating) {
    slot.next_update = [this, place, failed] { update_one(place, failed); };
    return;
  }
  slot.updating = true;
  ask(place, HookPhase::UPDATE, [this, place, failed](const Answer& answer) {
    auto& slot = hooks_[place];
    slot.updating = false;
    if (!answer) failed(entries_[place], answer.error());
    if (const auto next = std::exchange(slot.next_update, {}))
      next();
    else if (slot.open.empty() && !is_wanted(place))
      end(place);
  });
}

void HookSet::cancel(std::size_t place) {
  if (!lives(place) || !owes(place)) return;
  const auto& slot = hooks_[place];
  const auto last = slot.open.rbegin()->first;
  self_->request(slot.actor, hook::cancel_grace, hook::Cancel{}, actor::Priority::urgent)
      .then([](const hook::Settled&) {},
            [this, place, last](const Error&) {
              if (owes(place) && hooks_[place].open.begin()->first <= last)
                give_up(place, {Errc::cancelled, "it was cancelled and did not answer"});
            });
}

void HookSet::cancel_all() {
  for (std::size_t place = 0; place < entries_.size(); ++place)
    cancel(place);
}

bool HookSet::is_watched() const {
  return std::ranges::any_of(hooks_, [this](const auto& each) {
    return entries_[each.first].watches_tasks && each.second.actor;
  });
}

void HookSet::tell(const hook::TasksChanged& change) {
  for (auto& [place, slot] : hooks_)
    if (entries_[place].watches_tasks && slot.actor) slot.news.tell(self_, slot.actor, change);
}

/// What is asked now comes behind what was told, and the answer behind what they said to it.
void HookSet::dismiss_watchers(const std::function<void()>& then) {
  const auto open = std::make_shared<std::size_t>(1);
  const auto one = [open, then] {
    if (--*open == 0) then();
  };
  for (auto& [place, slot] : hooks_) {
    if (!entries_[place].watches_tasks || !slot.actor) continue;
    ++*open;
    slot.news.flush(self_);
    self_->request(slot.actor, hook::cancel_grace, hook::Cancel{})
        .then([one](const hook::Settled&) { one(); }, [one](const Error&) { one(); });
  }
  one();
}

void HookSet::child_down(const actor::Down& down) {
  for (auto& [place, slot] : hooks_)
    if (slot.actor && slot.actor.address() == down.source) slot.actor = {};
  std::erase_if(hooks_, [](const auto& each) { return each.second.is_idle(); });
  if (hooks_.empty()) scope_ = {};
}

void HookSet::stop() {
  for (auto& [place, slot] : std::exchange(hooks_, {})) {
    slot.open.clear();
    actor::stop(std::exchange(slot.actor, {}));
  }
}

}  // namespace nomad::client
