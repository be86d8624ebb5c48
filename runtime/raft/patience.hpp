// Patience: how long a server waits for its leader, and a leader for its quorum.
//
// On a quiet machine that is the election timeout. Where whatever was waited for came late lately,
// though it came (a leader that was not scheduled, a slow network), it is so many times the longest
// of these waits, within a bound; own stalls are no part of them. It is never less than the
// election timeout, on which the leader's lease rests.
#pragma once

#include "runtime/raft/progress.hpp"

namespace nomad::raft {

class Patience {
public:
  /// A wait like the longest one is to pass, even if it comes twice as long.
  static constexpr int of_longest = 3;

  /// So many election timeouts are the bound.
  static constexpr int most = 6;

  /// A wait counts at least for so long, and at most for twice as long.
  static constexpr Time memory = std::chrono::seconds{30};

  explicit Patience(Time election_timeout) : least_(election_timeout) {}

  /// What was waited for has come `wait` later than it left, or was due.
  void waited(Time now, Time wait);

  Time at(Time now) const;

  /// The longest patience.
  Time bound() const { return most * least_; }

private:
  void move_to(Time now);

  Time least_;
  std::int64_t span_ = 0;  ///< Of `memory` each.
  Time longest_{0};        ///< Wait of this span.
  Time before_{0};         ///< The same of the span before.
};

}  // namespace nomad::raft
