// IncomingFrames: what a plugin has said and is not looked at yet, in its order: so much at once,
// and so much a second again. A large message counts as many; answers cost nothing. Part of the
// PluginLink. No clock.
#pragma once

#include <deque>
#include <optional>

#include "runtime/plugin/allowance.hpp"
#include "runtime/plugin/frames.hpp"

namespace nomad::plugin {

class IncomingFrames {
public:
  static constexpr double at_once = 20'000;
  static constexpr double per_second = 2'000;
  static constexpr std::size_t bytes_of_one = 8192;

  struct Said {
    Frame frame;
    std::size_t bytes = 0;
  };

  void add(Frame frame, std::size_t bytes) { waiting_.push_back({std::move(frame), bytes}); }

  /// The next one that may be looked at now. `is_free` knows answers.
  template <class IsFree>
  std::optional<Said> next(std::chrono::nanoseconds now, const IsFree& is_free) {
    if (waiting_.empty()) return std::nullopt;
    const auto cost = 1 + static_cast<double>(waiting_.front().bytes / bytes_of_one);
    if (!is_free(*waiting_.front().frame) && !allowance_.take(now, cost)) return std::nullopt;
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
