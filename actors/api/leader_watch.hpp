// LeaderWatch: tells those who wait for an answer of the leader that somebody else leads by now.
// A leader that was stopped, or cut off, answers nobody and closes no connection: without this its
// clients would wait until the connection is taken for dead, long after the cluster goes on.
// And tells those who look for a leader that there is one.
//
// Threads: any. Callbacks come on the timers' thread and must be quick. A look every `interval`
// while somebody waits, or every `short_interval` while somebody has no leader, whose cost does not
// depend on how many do.
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
    std::weak_ptr<LeaderWatch> watch_;
    std::string leader_;
    std::uint64_t number_ = 0;
    bool seeks_ = false;
  };

  /// Calls `lost` once, if `leader` leads no more and another one does.
  Waiting wait_for(const std::string& leader, std::function<void()> lost);

  /// Calls `found` once, when somebody leads who is not `than`.
  Waiting seek_other(const std::string& than, std::function<void()> found);

  /// Looks who leads; what the timers do.
  void look(Clock::time_point now);
  void look_for_seekers();

private:
  struct Asked {
    std::map<std::uint64_t, std::function<void()>> waiting;
    Clock::time_point replaced_since = Clock::time_point::max();  ///< Never.
  };

  struct Seeker {
    std::string than;
    std::function<void()> found;
  };

  void look_later();
  void look_for_seekers_later();
  void forget(const Waiting& waiting);

  net::TimerQueue& timers_;
  const LeaderAddress leader_address_;
  std::mutex guard_;
  std::map<std::string, Asked> asked_;  ///< By the leader's address: one or two.
  std::map<std::uint64_t, Seeker> seekers_;
  std::uint64_t last_number_ = 0;
  bool is_timed_ = false;
  bool seekers_are_timed_ = false;
};

}  // namespace nomad::api
