// LockLease: when `var lock` takes a lock, starts its child, renews, ends the child and gives the
// lock up. It decides; the command asks what is next, does it, and tells what came of it.
//
// The lock is relied on for its TTL after the last renewal that went well was sent. A child that
// still runs then is ended, by SIGTERM and after a pause by SIGKILL: the server keeps the lock from
// others for another TTL and its delay, which is the time for that.
//
// Knows no clock: times are the caller's, of a steady clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace nomad::cli {

struct LeaseOptions {
  std::chrono::nanoseconds ttl{};
  std::chrono::nanoseconds pause{};  ///< From one attempt to take the lock to the next.
  bool early_return = false;         ///< Another's lock ends it, instead of being waited for.
  std::int64_t retries = 5;          ///< Of a call that may do better later.
};

class LockLease {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  enum class Act : std::uint8_t {
    wait,     ///< Until `wake`, or until the child has ended: nothing else.
    acquire,  ///< Then `answered`.
    start,    ///< The child; then `started`, or `child_ended` if it could not be.
    renew,    ///< Then `answered`.
    terminate_child,
    kill_child,
    release,  ///< Then `released`.
    end,      ///< With `problem`, if there is one.
  };

  enum class Answer : std::uint8_t {
    done,
    conflict,   ///< Another has the lock.
    try_again,  ///< The servers could not say.
    failed,
  };

  explicit LockLease(LeaseOptions options) : options_{options} {}

  Act next(TimePoint now);

  /// While `wait`: when there is something to do at the latest.
  TimePoint wake() const { return wake_; }

  /// What came of taking or renewing the lock. `what` says what went wrong.
  void answered(Answer answer, const std::string& what, TimePoint now);

  void started() { state_ = State::holding; }

  /// `problem`: why that is no success; "" if it is one.
  void child_ended(std::string problem);

  /// It is asked to end: a child that runs is told by whoever asks; there is nothing to wait for.
  void stop();

  void released(const std::string& problem);

  bool holds() const { return state_ == State::holding || state_ == State::starting; }

  /// What the command fails with; "": it does not.
  const std::string& problem() const { return problem_; }

private:
  enum class State : std::uint8_t { taking, starting, holding, lost, releasing, ended };

  void fail(State state, std::string problem);
  void retry_or(State state, const std::string& what, TimePoint now);

  LeaseOptions options_;
  State state_ = State::taking;
  TimePoint wake_{};        ///< Of the next call, or of the next step of ending the child.
  TimePoint sent_{};        ///< When the call that is under way was sent.
  TimePoint good_until_{};  ///< The lock is ours until then.
  std::int64_t failures_ = 0;
  bool is_terminated_ = false;
  std::string problem_;
};

}  // namespace nomad::cli
