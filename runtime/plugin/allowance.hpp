// Allowance: how much somebody may still do at once: so many in a row, and so many a second again.
// No clock.
#pragma once

#include <algorithm>
#include <chrono>

namespace nomad::plugin {

class Allowance {
public:
  Allowance(double at_once, double per_second)
      : at_once_{at_once}, per_second_{per_second}, left_{at_once} {}

  /// Takes so many; false, with nothing taken: there are not so many.
  bool take(std::chrono::nanoseconds now, double count = 1) {
    left_ = std::min(at_once_, left_ + per_second_ * seconds(now - since_));
    since_ = now;
    if (left_ < count) return false;
    left_ -= count;
    return true;
  }

private:
  static double seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
  }

  double at_once_;
  double per_second_;
  double left_;
  std::chrono::nanoseconds since_{0};
};

}  // namespace nomad::plugin
