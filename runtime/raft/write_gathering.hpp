// WriteGathering: whether a leader proposes writes at once, or lets them gather for a moment.
//
// A round of messages and of disks costs the same for one write as for many: while one is under
// way, and takes so little that nobody minds, what comes in goes together into the next. A round
// that takes longer is not waited for: then the core's window keeps several under way.
//
//   idle   -- begin --> a round     (end: how long it took counts; abandon: it does not)
//   a round -- holds_back --> more waits for its end, and then is_due
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "runtime/raft/progress.hpp"

namespace nomad::raft {

class WriteGathering {
public:
  /// A round that takes longer on average is not waited for.
  static constexpr Time worth_waiting = std::chrono::milliseconds{10};

  /// Something was proposed. While a round is under way it is part of that.
  void begin(Time now);

  /// All that was proposed is carried out.
  void end(Time now);

  /// All that was proposed is lost.
  void abandon();

  /// Whether writes that have come in are to wait for the end of the round. A single voter has only
  /// its disk to wait for, and the log writer gathers for that.
  bool holds_back(std::size_t voters);

  /// Writes were held back, and the round is over.
  bool is_due() const { return holds_back_ && !since_; }

private:
  std::optional<Time> since_;  ///< A round is under way.
  Time takes_{0};              ///< A round, on average of late.
  bool holds_back_ = false;
};

}  // namespace nomad::raft
