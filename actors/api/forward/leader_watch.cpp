#include "actors/api/forward/leader_watch.hpp"

#include <algorithm>
#include <vector>

namespace nomad::api {

using namespace std::chrono_literals;

LeaderWatch::LeaderWatch(net::TimerQueue& timers, LeaderAddress leader_address)
    : timers_{timers}, leader_address_{std::move(leader_address)} {}

LeaderWatch::Waiting::Waiting(Waiting&& other) noexcept
    : watch_{std::exchange(other.watch_, {})},
      group_{std::move(other.group_)},
      number_{other.number_} {}

LeaderWatch::Waiting& LeaderWatch::Waiting::operator=(Waiting&& other) noexcept {
  std::swap(watch_, other.watch_);
  std::swap(group_, other.group_);
  std::swap(number_, other.number_);
  return *this;
}

LeaderWatch::Waiting::~Waiting() {
  if (const auto watch = watch_.lock()) watch->forget(*this);
}

LeaderWatch::Waiting LeaderWatch::wait_for(const std::string& leader,
                                           std::chrono::milliseconds grace,
                                           std::function<void()> replaced) {
  Waiting waiting;
  waiting.watch_ = weak_from_this();
  waiting.group_ = {leader, grace};
  {
    const std::scoped_lock lock{guard_};
    waiting.number_ = ++last_number_;
    groups_[waiting.group_].told.emplace(waiting.number_, std::move(replaced));
  }
  look_later();
  return waiting;
}

void LeaderWatch::forget(const Waiting& waiting) {
  std::function<void()> dropped;  // its captures may end waits themselves
  const std::scoped_lock lock{guard_};
  const auto group = groups_.find(waiting.group_);
  if (group == groups_.end()) return;
  auto entry = group->second.told.extract(waiting.number_);
  if (entry.empty()) return;
  dropped = std::move(entry.mapped());
  if (group->second.told.empty()) groups_.erase(group);
}

void LeaderWatch::look_later() {
  std::chrono::milliseconds delay = interval;
  std::uint64_t timer = 0;
  {
    const std::scoped_lock lock{guard_};
    if (groups_.empty()) return;
    const bool is_hasty
        = std::ranges::any_of(groups_, [](const auto& group) { return group.first.second == 0ms; });
    if (is_hasty) delay = short_interval;
    if (timed_ && *timed_ <= delay) return;
    timed_ = delay;
    timer = ++timer_;
  }
  timers_.call_after(delay, [weak = weak_from_this(), timer] {
    if (const auto self = weak.lock()) self->look_in_time(timer);
  });
}

void LeaderWatch::look_in_time(std::uint64_t timer) {
  {
    const std::scoped_lock lock{guard_};
    if (timer != timer_) return;
    timed_.reset();
  }
  look(Clock::now());
  look_later();
}

void LeaderWatch::look(Clock::time_point now) {
  const auto leader = leader_address_();
  if (leader.empty()) return;  // nobody else leads yet
  std::vector<Waiters> replaced;
  {
    const std::scoped_lock lock{guard_};
    for (auto entry = groups_.begin(); entry != groups_.end();) {
      auto& [group, waiters] = *entry;
      auto& since = waiters.replaced_since;
      since = group.first == leader ? Clock::time_point::max() : std::min(since, now);
      const bool is_over = since <= now && now - since >= group.second;
      if (is_over) replaced.push_back(std::move(waiters));
      entry = is_over ? groups_.erase(entry) : std::next(entry);
    }
  }
  for (const auto& waiters : replaced)
    for (const auto& [number, tell] : waiters.told)
      tell();
}

}  // namespace nomad::api
