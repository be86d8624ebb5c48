#include "actors/api/http/rights_watch.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace nomad::api {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// How soon a change is noticed. What ends has a second to do so.
constexpr auto look_interval = 200ms;

/// The same where others have to be asked.
constexpr auto ask_interval = 400ms;

/// Whoever goes on after his token's end is told again so often: the clock by which it ended may be
/// another one's.
constexpr auto end_interval = 500ms;

}  // namespace

struct RightsWatch::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<access::Authenticator> given, net::TimerQueue& queue)
      : authenticator{std::move(given)}, timers{queue} {}

  struct Entry {
    std::shared_ptr<const Look> look;
    access::GrantRef grant;
    net::TimerQueue::Id end = {};  ///< When the token ends by itself.
  };

  const std::shared_ptr<access::Authenticator> authenticator;
  net::TimerQueue& timers;
  std::mutex guard;
  std::map<std::uint64_t, Entry> entries;
  std::uint64_t last_number = 0;
  std::uint64_t seen_index = 0;
  bool is_ticking = false;

  std::uint64_t add(const access::Principal& who, Look look) {
    auto shared = std::make_shared<const Look>(std::move(look));
    const auto& grant = who.grant();
    const auto ends = grant ? grant->ends : access::Time::max();
    const std::lock_guard lock{guard};
    const auto number = ++last_number;
    auto& entry = entries[number];
    entry.look = shared;
    entry.grant = grant;
    if (ends != access::Time::max())
      end_later(number, entry, std::max<Clock::duration>(ends - Clock::now(), 0ms));
    // A change since he was looked up is one that he has to be told of.
    if (grant) seen_index = std::min(is_ticking ? seen_index : UINT64_MAX, grant->index);
    if (!std::exchange(is_ticking, true)) tick_later();
    return number;
  }

  void remove(std::uint64_t number) {
    decltype(entries)::node_type entry;  // goes after the lock
    const std::lock_guard lock{guard};
    entry = entries.extract(number);
    if (entry && entry.mapped().end) timers.cancel(entry.mapped().end);
  }

  /// With the lock.
  void end_later(std::uint64_t number, Entry& entry, Clock::duration pause) {
    entry.end = timers.call_after(pause, [weak = weak_from_this(), number] {
      if (const auto self = weak.lock()) self->ended(number);
    });
  }

  void ended(std::uint64_t number) {
    std::shared_ptr<const Look> look;
    {
      const std::lock_guard lock{guard};
      const auto entry = entries.find(number);
      if (entry == entries.end()) return;
      look = entry->second.look;
      end_later(number, entry->second, end_interval);
    }
    (*look)();
  }

  /// With the lock.
  void tick_later() {
    timers.call_after(authenticator->asks_others() ? ask_interval : look_interval,
                      [weak = weak_from_this()] {
                        if (const auto self = weak.lock()) self->tick();
                      });
  }

  void tick() {
    {
      const std::lock_guard lock{guard};
      is_ticking = !entries.empty();
      if (!is_ticking) return;
    }
    if (!authenticator->asks_others()) return look();
    authenticator->look_for_changes([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->look();
    });
  }

  /// Calls all when something has changed, and whoever's grant holds no more, without the lock:
  /// they may register and give up.
  void look() {
    std::vector<std::shared_ptr<const Look>> all;
    {
      const std::lock_guard lock{guard};
      const auto newest = authenticator->newest_index();
      const bool is_changed = std::exchange(seen_index, newest) != newest;
      for (const auto& [number, entry] : entries) {
        const auto& grant = entry.grant;
        if (is_changed || (grant && grant->holds && !grant->holds())) all.push_back(entry.look);
      }
      tick_later();
    }
    for (const auto& each : all)
      (*each)();
  }
};

RightsWatch::Watching::Watching(std::weak_ptr<State> state, std::uint64_t number)
    : state_{std::move(state)}, number_{number} {}

RightsWatch::Watching::Watching(Watching&& other) noexcept
    : state_{std::move(other.state_)}, number_{std::exchange(other.number_, 0)} {}

RightsWatch::Watching& RightsWatch::Watching::operator=(Watching&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(number_, other.number_);
  return *this;
}

RightsWatch::Watching::~Watching() {
  if (number_ == 0) return;
  if (const auto state = state_.lock()) state->remove(number_);
}

RightsWatch::RightsWatch(std::shared_ptr<access::Authenticator> authenticator,
                         net::TimerQueue& timers)
    : state_{std::make_shared<State>(std::move(authenticator), timers)} {}

RightsWatch::~RightsWatch() = default;

RightsWatch::Watching RightsWatch::watch(const access::Principal& who, Look look) {
  if (!state_->authenticator->enforces()) return {};
  return {state_, state_->add(who, std::move(look))};
}

RightsWatch::Watching RightsWatch::renew(access::Principal who, Tell tell) {
  struct Renewed : std::enable_shared_from_this<Renewed> {
    Renewed(std::weak_ptr<State> owner, access::Principal caller, Tell told)
        : state{std::move(owner)}, who{std::move(caller)}, tell{std::move(told)} {}

    const std::weak_ptr<State> state;
    const access::Principal who;
    const Tell tell;

    void look() {
      const auto open = state.lock();
      if (!open) return;
      open->authenticator->resolve(
          who, [self = shared_from_this()](const Result<access::Principal>& now) {
            if (!now && now.error().code == Errc::overloaded) return self->look_later();
            self->tell(now);
          });
    }

    void look_later() {
      const auto open = state.lock();
      if (!open) return;
      open->timers.call_after(look_again_after, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->look();
      });
    }
  };

  if (!state_->authenticator->enforces()) return {};
  const auto renewed = std::make_shared<Renewed>(state_, who, std::move(tell));
  return watch(who, [renewed] { renewed->look(); });
}

RightsWatch::Watching RightsWatch::keep(access::Principal who,
                                        std::function<Result<>(const access::Principal& who)> judge,
                                        std::function<void(const Error& why)> refuse) {
  return renew(std::move(who), [judge = std::move(judge),
                                refuse = std::move(refuse)](const Result<access::Principal>& now) {
    if (!now) return refuse(now.error());
    if (const auto allowed = judge(*now); !allowed) refuse(allowed.error());
  });
}

}  // namespace nomad::api
