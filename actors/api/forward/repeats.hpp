// Repeats: for how long a request that is passed on is tried again, and whether what was sent, and
// may have been served, is sent once more. Pure: the time is the caller's.
#pragma once

#include <chrono>

namespace nomad::api {

class Repeats {
public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::milliseconds hold{5'000};

  Repeats(bool is_read, Time now) : is_read_{is_read}, give_up_{now + hold} {}

  /// Whether there is time for another try at `then`.
  bool has_time(Time then) const { return then <= give_up_; }

  /// Whether what may have been served is sent again: a read, which changes nothing however often
  /// it is served. But it may be what ends those who serve it, so not twice within `hold`. True
  /// gives it that time anew.
  bool may_repeat(Time now) {
    if (!is_read_ || now < repeats_from_) return false;
    repeats_from_ = give_up_ = now + hold;
    return true;
  }

private:
  bool is_read_;
  Time give_up_;
  Time repeats_from_ = Time::min();
};

}  // namespace nomad::api
