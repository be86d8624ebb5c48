// CheckpointPace: when a write-ahead log is copied into its file, and by whom. Pure.
//
// A copy made beside the writes never ends while they go on without a pause: what was written
// meanwhile is left, so the log does not begin anew, grows, and is copied (and both files synced)
// again and again. So the writer itself copies what such a run has left, if that is little.
#pragma once

#include <optional>

namespace nomad::storage {

class CheckpointPace {
public:
  enum class Copy {
    none,
    beside,  ///< By another connection, while writes go on.
    finish,  ///< By the writer, between two writes.
  };

  /// Nothing is copied below `first` pages, and at most `most_left` by the writer.
  CheckpointPace(int first, int most_left) : first_{first}, most_left_{most_left} {}

  /// After a write: the log has `pages` now.
  Copy next(int pages) {
    if (pages < first_) copied_.reset();  // it began anew
    if (pages < first_ || is_running_) return Copy::none;
    const auto copied = copied_;
    copied_.reset();
    if (copied && pages - *copied <= most_left_) return Copy::finish;
    is_running_ = true;
    return Copy::beside;
  }

  /// A run beside the writes is over; nothing: it failed.
  void ended(std::optional<int> copied_pages) {
    is_running_ = false;
    copied_ = copied_pages;
  }

private:
  const int first_;
  const int most_left_;
  bool is_running_ = false;
  std::optional<int> copied_;  ///< By the last run, and nobody has gone on from there.
};

}  // namespace nomad::storage
