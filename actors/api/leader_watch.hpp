// LeaderWatch: tells those who wait for an answer of the leader that somebody else leads by now.
// A leader that was stopped, or cut off, answers nobody and closes no connection: without this its
// clients would wait until the connection is taken for dead, long after the cluster goes on.
//
// Threads: any. Callbacks come on the timers' thread and must be quick. A look every `interval`
// while somebody waits, whose cost does not depend on how many do.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/net/timer_queue.hpp"

namespace nomad::api {

class LeaderWatch : public std::enable_shared_from_this<LeaderWatch> {
public:
  using Clock = std::chrono::steady_clock;

  /// The leader's RPC address, empty while there is none. Quick and thread-safe.
  using LeaderAddress = std::function<std::string()>;

  /// How long another one must lead before who waits is told: the old one may be about to answer.
  static constexpr std::chrono::milliseconds grace{500};
  static constexpr std::chrono::milliseconds interval{250};

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
    std::weak_ptr<LeaderWatch> watch_;
    std::string leader_;
    std::uint64_t number_ = 0;
  };

  /// Calls `lost` once, if `leader` leads no more and another one does.
  Waiting wait_for(const std::string& leader, std::function<void()> lost);

  /// Looks who leads; what the timer does.
  void look(Clock::time_point now);

private:
  struct Asked {
    std::map<std::uint64_t, std::function<void()>> waiting;
    Clock::time_point replaced_since = Clock::time_point::max();  ///< Never.
  };

  void look_later();
  void forget(const std::string& leader, std::uint64_t number);

  net::TimerQueue& timers_;
  const LeaderAddress leader_address_;
  std::mutex guard_;
  std::map<std::string, Asked> asked_;  ///< By the leader's address: one or two.
  std::uint64_t last_number_ = 0;
  bool is_timed_ = false;
};

}  // namespace nomad::api
