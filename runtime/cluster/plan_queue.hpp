// PlanQueue: in which order submitted plans are verified: higher priority first, among equals the
// one that came first. Holds any payload; the plan applier owns one.
//
// May depend on: nothing but the standard library.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace nomad::cluster {

template <class Payload>
class PlanQueue {
public:
  void push(std::int32_t priority, Payload plan) {
    queue_.emplace(Rank{-std::int64_t{priority}, arrivals_++}, std::move(plan));
  }

  std::optional<Payload> pop() {
    if (queue_.empty()) return std::nullopt;
    return std::move(queue_.extract(queue_.begin()).mapped());
  }

  /// Removes and returns everything, in order; its submitters are to be told.
  std::vector<Payload> drain() {
    std::vector<Payload> all;
    while (auto plan = pop())
      all.push_back(std::move(*plan));
    return all;
  }

  bool empty() const { return queue_.empty(); }

  std::size_t size() const { return queue_.size(); }

private:
  using Rank = std::pair<std::int64_t, std::uint64_t>;

  std::map<Rank, Payload> queue_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace nomad::cluster
