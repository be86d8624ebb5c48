#include "actors/api/leader_watch.hpp"

#include <utility>
#include <vector>

namespace nomad::api {

LeaderWatch::LeaderWatch(net::TimerQueue& timers, LeaderAddress leader_address)
    : timers_{timers}, leader_address_{std::move(leader_address)} {}

LeaderWatch::Waiting::Waiting(Waiting&& other) noexcept
    : watch_{std::exchange(other.watch_, {})},
      leader_{std::move(other.leader_)},
      number_{other.number_},
      seeks_{other.seeks_} {}

LeaderWatch::Waiting& LeaderWatch::Waiting::operator=(Waiting&& other) noexcept {
  std::swap(watch_, other.watch_);
  std::swap(leader_, other.leader_);
  std::swap(number_, other.number_);
  std::swap(seeks_, other.seeks_);
  return *this;
}

LeaderWatch::Waiting::~Waiting() {
  if (const auto watch = watch_.lock()) watch->forget(*this);
}

LeaderWatch::Waiting LeaderWatch::wait_for(const std::string& leader, std::function<void()> lost) {
  Waiting waiting;
  waiting.watch_ = weak_from_this();
  waiting.leader_ = leader;
  bool is_first = false;
  {
    const std::scoped_lock lock{guard_};
    waiting.number_ = ++last_number_;
    asked_[leader].waiting.emplace(waiting.number_, std::move(lost));
    is_first = !std::exchange(is_timed_, true);
  }
  if (is_first) look_later();
  return waiting;
}

LeaderWatch::Waiting LeaderWatch::seek_other(const std::string& than, std::function<void()> found) {
  Waiting waiting;
  waiting.watch_ = weak_from_this();
  waiting.seeks_ = true;
  bool is_first = false;
  {
    const std::scoped_lock lock{guard_};
    waiting.number_ = ++last_number_;
    seekers_.emplace(waiting.number_, Seeker{than, std::move(found)});
    is_first = !std::exchange(seekers_are_timed_, true);
  }
  if (is_first) look_for_seekers_later();
  return waiting;
}

void LeaderWatch::forget(const Waiting& waiting) {
  std::function<void()> dropped;  // its captures may end waits themselves
  const std::scoped_lock lock{guard_};
  if (waiting.seeks_) {
    const auto seeker = seekers_.find(waiting.number_);
    if (seeker == seekers_.end()) return;
    dropped = std::move(seeker->second.found);
    seekers_.erase(seeker);
    return;
  }
  const auto asked = asked_.find(waiting.leader_);
  if (asked == asked_.end()) return;
  const auto entry = asked->second.waiting.find(waiting.number_);
  if (entry == asked->second.waiting.end()) return;
  dropped = std::move(entry->second);
  asked->second.waiting.erase(entry);
  if (asked->second.waiting.empty()) asked_.erase(asked);
}

void LeaderWatch::look_later() {
  timers_.call_after(interval, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->look(Clock::now());
    {
      const std::scoped_lock lock{self->guard_};
      self->is_timed_ = !self->asked_.empty();
      if (!self->is_timed_) return;
    }
    self->look_later();
  });
}

void LeaderWatch::look_for_seekers_later() {
  timers_.call_after(short_interval, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->look_for_seekers();
    {
      const std::scoped_lock lock{self->guard_};
      self->seekers_are_timed_ = !self->seekers_.empty();
      if (!self->seekers_are_timed_) return;
    }
    self->look_for_seekers_later();
  });
}

void LeaderWatch::look_for_seekers() {
  const auto leader = leader_address_();
  if (leader.empty()) return;
  std::vector<std::function<void()>> happy;
  {
    const std::scoped_lock lock{guard_};
    for (auto seeker = seekers_.begin(); seeker != seekers_.end();) {
      const bool found = seeker->second.than != leader;
      if (found) happy.push_back(std::move(seeker->second.found));
      seeker = found ? seekers_.erase(seeker) : std::next(seeker);
    }
  }
  for (const auto& tell : happy)
    tell();
}

void LeaderWatch::look(Clock::time_point now) {
  const auto leader = leader_address_();
  if (leader.empty()) return;  // nobody else leads yet
  std::vector<Asked> lost;
  {
    const std::scoped_lock lock{guard_};
    for (auto entry = asked_.begin(); entry != asked_.end();) {
      auto& [address, asked] = *entry;
      if (address == leader) {
        asked.replaced_since = Clock::time_point::max();
      } else if (asked.replaced_since == Clock::time_point::max()) {
        asked.replaced_since = now;
      } else if (now - asked.replaced_since >= grace) {
        lost.push_back(std::move(asked));
        entry = asked_.erase(entry);
        continue;
      }
      ++entry;
    }
  }
  for (const auto& asked : lost)
    for (const auto& [number, tell] : asked.waiting)
      tell();
}

}  // namespace nomad::api
