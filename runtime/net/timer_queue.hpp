// TimerQueue: calls functions later, on an event loop of its own. For the ends of blocking queries
// and the heartbeats of streams, of which there may be tens of thousands.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "runtime/net/event_loop.hpp"

namespace nomad::net {

class TimerQueue {
public:
  using Clock = std::chrono::steady_clock;

  /// Of one call; empty before `call_after` has given it.
  struct Id {
    Clock::time_point due{};
    std::uint64_t number = 0;

    explicit operator bool() const { return number != 0; }

    friend auto operator<=>(const Id&, const Id&) = default;
  };

  /// Calls its second argument back, after that time at the earliest.
  using Alarm = std::function<void(Clock::duration, std::function<void()>)>;

  /// `alarm` stands in for the event loop, where time is simulated.
  explicit TimerQueue(Alarm alarm = {}) : alarm_(std::move(alarm)) {}

  TimerQueue(const TimerQueue&) = delete;
  ~TimerQueue();  ///< Drops what has not been called.

  /// Calls `callback` once, `delay` from now. It must be quick and may call this object.
  Id call_after(Clock::duration delay, std::function<void()> callback);

  /// Whether the callback was still to come; it is dropped then. It may be running on
  /// return when the answer is false.
  bool cancel(Id id);

  std::size_t size() const;

  void stop();

private:
  void call_due();
  void wake_at(Clock::time_point due);

  using Queue = std::map<Id, std::function<void()>>;

  mutable std::mutex guard_;
  Queue queue_;
  std::uint64_t last_number_ = 0;
  bool stopping_ = false;
  bool is_started_ = false;  ///< By the first call.
  const Alarm alarm_;
  std::optional<Clock::time_point> alarm_due_;  ///< Of the one alarm that counts.
  EventLoop loop_;
};

}  // namespace nomad::net
