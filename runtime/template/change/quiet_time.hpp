// `wait` of a template: many changes of what it asks for are one rendering. It is rendered once
// nothing has changed for `min`, but no later than `max` after the first change.
//
// Given the times; reads no clock.
#pragma once

#include <chrono>
#include <optional>

namespace nomad::templates {

class QuietTime {
public:
  using Duration = std::chrono::nanoseconds;
  /// Since any fixed moment.
  using Time = std::chrono::nanoseconds;

  /// With a `min` of 0, each change is due at once. A `max` below `min` counts as `min`.
  QuietTime(Duration min, Duration max) : min_{min}, max_{max < min ? min : max} {}

  /// Something has changed.
  void change(Time now) {
    if (!last_) last_ = now + max_;
    due_ = now + min_ < *last_ ? now + min_ : *last_;
  }

  /// When to render; nothing while nothing has changed.
  std::optional<Time> due() const { return due_; }

  /// Whether it is time to render. If so, waits for the next change.
  bool take(Time now) {
    if (!due_ || now < *due_) return false;
    due_.reset();
    last_.reset();
    return true;
  }

private:
  Duration min_;
  Duration max_;
  std::optional<Time> due_;
  std::optional<Time> last_;  ///< No later than this.
};

}  // namespace nomad::templates
