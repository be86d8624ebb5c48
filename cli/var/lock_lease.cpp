#include "cli/var/lock_lease.hpp"

#include <algorithm>
#include <utility>

namespace nomad::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t longest_doubling = 6;
constexpr auto termination_pause = 5s;

/// 1 s, 2 s, 4 s, … after the first, second, third failure.
std::chrono::seconds pause_after(std::int64_t failures) {
  return std::chrono::seconds{1LL << std::clamp<std::int64_t>(failures - 1, 0, longest_doubling)};
}

std::chrono::nanoseconds renewal_pause(std::chrono::nanoseconds ttl) {
  return ttl / 10 * 7;
}

}  // namespace

LockLease::Act LockLease::next(TimePoint now) {
  switch (state_) {
    case State::taking:
      if (now < wake_) return Act::wait;
      sent_ = now;
      return Act::acquire;
    case State::starting:
      return Act::start;
    case State::holding:
      if (now >= good_until_) {
        fail(State::lost, "the lock was lost: it could not be renewed in time");
        return next(now);
      }
      if (now < wake_) return Act::wait;
      sent_ = now;
      return Act::renew;
    case State::lost:
      if (!std::exchange(is_terminated_, true)) {
        wake_ = now + std::min<std::chrono::nanoseconds>(termination_pause, options_.ttl / 2);
        return Act::terminate_child;
      }
      if (now < wake_) return Act::wait;
      wake_ = now + termination_pause;
      return Act::kill_child;
    case State::releasing:
      return Act::release;
    case State::ended:
      return Act::end;
  }
  return Act::end;
}

void LockLease::fail(State state, std::string problem) {
  state_ = state;
  problem_ = std::move(problem);
}

/// Another try later, while there are some left; else `state`.
void LockLease::retry_or(State state, const std::string& what, TimePoint now) {
  if (++failures_ > options_.retries) return fail(state, what);
  wake_ = now + pause_after(failures_);
}

void LockLease::answered(Answer answer, const std::string& what, TimePoint now) {
  const bool is_taking = state_ == State::taking;
  const auto otherwise = is_taking ? State::ended : State::lost;
  switch (answer) {
    case Answer::done:
      failures_ = 0;
      good_until_ = sent_ + options_.ttl;
      wake_ = sent_ + renewal_pause(options_.ttl);
      if (is_taking) state_ = State::starting;
      return;
    case Answer::conflict:
      if (!is_taking) return fail(State::lost, "the lock was lost: " + what);
      failures_ = 0;
      if (options_.early_return) state_ = State::ended;
      wake_ = now + options_.pause;
      return;
    case Answer::try_again:
      retry_or(otherwise, (is_taking ? "" : "error renewing the lease: ") + what, now);
      if (!is_taking && state_ == State::holding) wake_ = std::min(wake_, good_until_);
      return;
    case Answer::failed:
      fail(otherwise, (is_taking ? "" : "error renewing the lease: ") + what);
      return;
  }
}

void LockLease::child_ended(std::string problem) {
  // Of a lock that is lost that counts, and there is nothing to give up.
  if (state_ == State::lost) {
    state_ = State::ended;
    return;
  }
  fail(State::releasing, std::move(problem));
}

void LockLease::stop() {
  if (state_ == State::taking) fail(State::ended, "interrupted before the lock was acquired");
}

void LockLease::released(const std::string& problem) {
  state_ = State::ended;
  if (!problem.empty() && problem_.empty()) problem_ = "lock release: " + problem;
}

}  // namespace nomad::cli
