// TurnQueue: the turns of a thread with a loop of its own, which runs what waits, in order, when
// the descriptor can be read.
//
// Bounds: what nobody asked for (`offer`) is dropped beyond `most_offered` that wait, and counted.
// Answers (`take`, by which `Turns` post) can't be: each is awaited, and there are no more of them
// than was asked. If they are more than `most` all the same, the thread does not run any more, or
// what was asked has no bound: `overflown` is called, once, which is to end the process.
//
// Threads: `take` and `offer` any; the others the queue's.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/base/turns.hpp"

namespace nomad {

class TurnQueue final : public Turns::Taker {
public:
  struct Limits {
    std::size_t most_offered = 1000;
    std::size_t most = 100'000;
    /// On the thread that has posted one too many, which is dropped.
    std::function<void()> overflown{};
  };

  explicit TurnQueue(Limits limits)
      : limits_{std::move(limits)}, descriptor_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}

  ~TurnQueue() override { ::close(descriptor_); }

  TurnQueue(const TurnQueue&) = delete;
  TurnQueue& operator=(const TurnQueue&) = delete;

  int descriptor() const { return descriptor_; }

  bool take(Turns::Action& turn) override {
    {
      std::unique_lock lock{guard_};
      if (waiting_.size() >= limits_.most) {
        const bool is_first = !std::exchange(has_overflown_, true);
        lock.unlock();
        if (is_first && limits_.overflown) limits_.overflown();
        return false;
      }
      waiting_.push_back(std::move(turn));
    }
    wake();
    return true;
  }

  /// What nobody waits for.
  void offer(Turns::Action turn) {
    {
      const std::lock_guard lock{guard_};
      if (offered_ >= limits_.most_offered || waiting_.size() >= limits_.most) {
        ++dropped_;
        return;
      }
      ++offered_;
      waiting_.push_back(std::move(turn));
    }
    wake();
  }

  /// Runs what waits. Returns how much of what was offered has been dropped since the last call.
  std::size_t run() {
    eventfd_t count = 0;
    static_cast<void>(::eventfd_read(descriptor_, &count));
    std::vector<Turns::Action> turns;
    std::size_t dropped = 0;
    {
      const std::lock_guard lock{guard_};
      turns.swap(waiting_);
      offered_ = 0;
      dropped = std::exchange(dropped_, 0);
    }
    for (const auto& turn : turns)
      turn();
    return dropped;
  }

private:
  void wake() const {
    const eventfd_t one = 1;
    static_cast<void>(::eventfd_write(descriptor_, one));
  }

  const Limits limits_;
  const int descriptor_;
  std::mutex guard_;
  std::vector<Turns::Action> waiting_;
  std::size_t offered_ = 0;  ///< Of those that wait.
  std::size_t dropped_ = 0;
  bool has_overflown_ = false;
};

}  // namespace nomad
