// OutcomeFeed: what applied commands come to, on its way from the thread that applies them to the
// eval broker. However fast they come, one message is on its way, with all that has come until it
// is taken. Beyond a bound none of them is kept: the broker is told that it has missed some.
//
// Threads: any adds; the broker takes.
#pragma once

#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "actors/core/actor.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {

class OutcomeFeed;

/// Commands were applied, and what they came to is visible in a snapshot.
struct BatchApplied {
  using is_message = void;
  std::shared_ptr<OutcomeFeed> feed;
  std::shared_ptr<const void> under_way = {};  ///< Until nobody has the message any more.
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
    std::shared_ptr<const void> under_way;
    {
      const std::scoped_lock lock{mutex_};
      if (news_.outcomes.size() + outcomes.size() > most_waiting) {
        news_ = {.outcomes = {}, .missed = true};
      } else if (!news_.missed) {
        news_.outcomes.insert(news_.outcomes.end(), std::make_move_iterator(outcomes.begin()),
                              std::make_move_iterator(outcomes.end()));
      }
      if (!under_way_.expired()) return;
      under_way = std::make_shared<const bool>();
      under_way_ = under_way;
    }
    actor::tell(listener_, BatchApplied{shared_from_this(), std::move(under_way)});
  }

  /// All that has come since the last time.
  News take() {
    const std::scoped_lock lock{mutex_};
    under_way_.reset();
    return std::exchange(news_, {});
  }

private:
  const OutcomeListener listener_;
  std::mutex mutex_;
  News news_;
  /// Of the BatchApplied that nobody has taken yet. If it is dropped, as that is which makes the
  /// broker throw, the next news are told again.
  std::weak_ptr<const void> under_way_;
};

}  // namespace nomad::server
