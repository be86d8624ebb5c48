// Intake: what a plugin has said and is not looked at yet, in its order: so much at once, and so
// much a second again. Answers cost nothing. Part of the PluginLink. No clock.
#pragma once

#include <deque>
#include <optional>

#include "actors/plugin/allowance.hpp"
#include "runtime/plugin/frames.hpp"

namespace nomad::plugin {

class Intake {
public:
  static constexpr double at_once = 20'000;
  static constexpr double per_second = 2'000;

  struct Said {
    Frame frame;
    std::size_t bytes = 0;
  };

  void add(Frame frame, std::size_t bytes) { waiting_.push_back({std::move(frame), bytes}); }

  /// The next one that may be looked at now. `is_free` knows answers.
  template <class IsFree>
  std::optional<Said> next(std::chrono::nanoseconds now, const IsFree& is_free) {
    if (waiting_.empty() || (!is_free(*waiting_.front().frame) && !allowance_.take(now)))
      return std::nullopt;
    auto first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }

  bool is_waiting() const { return !waiting_.empty(); }

  /// The process is gone.
  void clear() { waiting_.clear(); }

private:
  std::deque<Said> waiting_;
  Allowance allowance_{at_once, per_second};
};

}  // namespace nomad::plugin
