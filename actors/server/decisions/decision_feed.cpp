#include "actors/server/decisions/decision_feed.hpp"

#include <utility>

namespace nomad::server {
namespace {

std::size_t allocations_in(const DecisionFeed::News& news) {
  const auto* decided = std::get_if<scheduler::Decided>(&news);
  return decided == nullptr || !decided->plan ? 0 : decided->plan->placement_count();
}

}  // namespace

void DecisionFeed::add(News news) {
  const auto allocations = allocations_in(news);
  std::function<void()> wake;
  {
    const std::scoped_lock lock{guard_};
    const bool has_room
        = waiting_.empty()
          || (waiting_.size() < most_news && allocations_ + allocations <= most_allocations);
    if (!has_room) {
      ++dropped_;
      return;
    }
    if (waiting_.empty()) wake = wake_;
    allocations_ += allocations;
    waiting_.push_back(std::move(news));
  }
  if (wake) wake();
}

void DecisionFeed::set_wake(std::function<void()> wake) {
  bool waits = false;
  {
    const std::scoped_lock lock{guard_};
    wake_ = wake;
    waits = !waiting_.empty();
  }
  if (waits && wake) wake();
}

DecisionFeed::Taken DecisionFeed::take() {
  const std::scoped_lock lock{guard_};
  allocations_ = 0;
  return {std::exchange(waiting_, {}), std::exchange(dropped_, 0)};
}

}  // namespace nomad::server
