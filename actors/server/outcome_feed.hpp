// OutcomeFeed: what applied commands come to, on its way from the thread that applies them to the
// eval broker. However fast they come, one message is on its way, with all that has come until it
// is taken. Beyond a bound none of them is kept: the broker is told that it has missed some.
//
// Threads: any adds; the broker takes.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "actors/core/actor.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

class OutcomeFeed;

/// That a message is on its way. If it is dropped before anybody took, as that is which makes the
/// broker throw, the next news are told again.
class OutcomeReport {
public:
  OutcomeReport(std::shared_ptr<OutcomeFeed> feed, std::uint64_t number)
      : feed_{std::move(feed)}, number_{number} {}

  OutcomeReport(const OutcomeReport&) = delete;
  OutcomeReport& operator=(const OutcomeReport&) = delete;
  ~OutcomeReport();

private:
  const std::shared_ptr<OutcomeFeed> feed_;
  const std::uint64_t number_;
};

/// Commands were applied, and what they came to is visible in a snapshot.
struct BatchApplied {
  using is_message = void;
  std::shared_ptr<OutcomeFeed> feed;
  std::shared_ptr<const OutcomeReport> report = {};
};

using OutcomeListener = actor::Interface<void(BatchApplied)>;

class OutcomeFeed : public std::enable_shared_from_this<OutcomeFeed> {
public:
  using Outcomes = std::vector<std::shared_ptr<const state::Outcome>>;

  struct News {
    Outcomes outcomes{};
    bool missed = false;  ///< There were more than are kept: who derives from them begins anew.
  };

  static constexpr std::size_t most_waiting = 16'384;

  explicit OutcomeFeed(OutcomeListener listener) : listener_(std::move(listener)) {}

  void add(Outcomes outcomes) {
    std::uint64_t number = 0;
    {
      const std::scoped_lock lock{mutex_};
      if (news_.outcomes.size() + outcomes.size() > most_waiting) {
        news_ = {.outcomes = {}, .missed = true};
      } else if (!news_.missed) {
        news_.outcomes.insert(news_.outcomes.end(), std::make_move_iterator(outcomes.begin()),
                              std::make_move_iterator(outcomes.end()));
      }
      if (std::exchange(told_, true)) return;
      number = ++number_;
    }
    const auto self = shared_from_this();
    actor::tell(listener_, BatchApplied{self, std::make_shared<const OutcomeReport>(self, number)});
  }

  /// All that has come since the last time.
  News take() {
    const std::scoped_lock lock{mutex_};
    told_ = false;
    return std::exchange(news_, {});
  }

  /// The message of that number is gone.
  void forget(std::uint64_t number) {
    const std::scoped_lock lock{mutex_};
    if (number == number_) told_ = false;
  }

private:
  const OutcomeListener listener_;
  std::mutex mutex_;
  News news_;
  bool told_ = false;         ///< A BatchApplied is on its way.
  std::uint64_t number_ = 0;  ///< Of the last one.
};

inline OutcomeReport::~OutcomeReport() {
  feed_->forget(number_);
}

}  // namespace nomad::server
