// LeaderWatch: tells those who wait for an answer of the leader that somebody else leads by now.
// A leader that was stopped, or cut off, answers nobody and closes no connection: without this its
// clients would wait until the connection is taken for dead, long after the cluster goes on.
// And tells those who look for a leader that there is one.
//
// Threads: any. Callbacks come on the timers' thread and must be quick. A look every `interval`
// while somebody waits, or every `short_interval` while somebody waits without grace, whose cost
// does not depend on how many do.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/net/timer_queue.hpp"

namespace nomad::api {

class LeaderWatch : public std::enable_shared_from_this<LeaderWatch> {
public:
  using Clock = std::chrono::steady_clock;

  /// The leader's RPC address, empty while there is none. Quick and thread-safe.
  using LeaderAddress = std::function<std::string()>;

  /// For who has asked the leader: the old one may be about to answer.
  static constexpr std::chrono::milliseconds answer_grace{200};
  static constexpr std::chrono::milliseconds interval{100};
  static constexpr std::chrono::milliseconds short_interval{10};

  /// `timers` must outlive what it calls.
  LeaderWatch(net::TimerQueue& timers, LeaderAddress leader_address);

  /// Ends the wait for whoever holds it when it goes.
  class Waiting {
  public:
    Waiting() = default;
    Waiting(Waiting&& other) noexcept;
    Waiting& operator=(Waiting&& other) noexcept;
    ~Waiting();

  private:
    friend class LeaderWatch;
    /// Those who wait for the same: the leader's address, and the grace.
    using Group = std::pair<std::string, std::chrono::milliseconds>;

    std::weak_ptr<LeaderWatch> watch_;
    Group group_{};
    std::uint64_t number_ = 0;
  };

  /// Calls `replaced` once, when somebody else than `leader` leads and has for `grace`, as the
  /// looks show it. An empty `leader` is nobody: then anybody will do.
  Waiting wait_for(const std::string& leader,
                   std::chrono::milliseconds grace,
                   std::function<void()> replaced);

  /// Looks who leads; what the timers do.
  void look(Clock::time_point now);

private:
  using Group = Waiting::Group;

  struct Waiters {
    std::map<std::uint64_t, std::function<void()>> told;
    Clock::time_point replaced_since = Clock::time_point::max();  ///< Never.
  };

  /// Sees to it that a look comes in time for those who wait.
  void look_later();
  void look_in_time(std::uint64_t timer);
  void forget(const Waiting& waiting);

  net::TimerQueue& timers_;
  const LeaderAddress leader_address_;
  std::mutex guard_;
  std::map<Group, Waiters> groups_;  ///< A few.
  std::uint64_t last_number_ = 0;
  std::optional<std::chrono::milliseconds> timed_;  ///< Until the next look, when that was set.
  std::uint64_t timer_ = 0;                         ///< The one that counts; earlier ones are void.
};

}  // namespace nomad::api
