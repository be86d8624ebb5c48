// LogView: what the core knows of the log: the term of every entry, and the newest entries whole.
//
// (1) Entries follow each other without a hole from `base_index() + 1` to `last_index()`; terms
//     never fall.
// (2) Terms are kept as runs, so that a whole log costs a few numbers.
// (3) Entries that are not released stay in memory; released ones leave when the cache is over its
//     limit, the oldest first. The others are in storage.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "runtime/raft/entry.hpp"

namespace nomad::raft {

class LogView {
public:
  static constexpr std::size_t default_cache_bytes = std::size_t{1} << 20;

  LogView() : LogView(0, 0) {}

  /// An empty log behind `base_index` (a snapshot's index, or 0).
  LogView(Index base_index, Term base_term, std::size_t cache_bytes = default_cache_bytes);

  /// The entry before the first one.
  Index base_index() const { return base_index_; }

  Index last_index() const { return last_index_; }

  Term last_term() const;

  /// Empty before `base_index` and behind `last_index`.
  std::optional<Term> term_at(Index index) const;

  /// The largest index in [base_index, `limit`] whose term is at most `term`; `base_index` when
  /// there is none.
  Index last_with_term_at_most(Term term, Index limit) const;

  /// `entry.index` is `last_index() + 1` and its term at least `last_term()`.
  void append(Entry entry);

  /// Drops `first` and all behind it; `first` is above `base_index`.
  void truncate_from(Index first);

  /// Forgets entries up to and including `through`, which is at most `last_index`.
  void compact_to(Index through);

  /// Forgets everything; the log goes on behind `index`.
  void reset(Index index, Term term);

  /// Entries up to `through` are durable and applied: the cache may drop them.
  void release(Index through);

  /// The first entry in memory; `last_index() + 1` when none is.
  Index cached_from() const { return last_index_ + 1 - cache_.size(); }

  /// Entries from `first`, which must be in memory, until `max_bytes` is reached; at least one
  /// unless `first` is behind the end.
  std::vector<Entry> entries(Index first, Index last, std::size_t max_bytes) const;

private:
  /// Entries from `first` on have `term`, until the next run.
  struct Run {
    Index first;
    Term term;
  };

  void evict();

  Index base_index_;
  Index last_index_;
  std::vector<Run> runs_;  ///< The first one covers `base_index_`.
  std::deque<Entry> cache_;
  std::size_t cached_bytes_ = 0;
  std::size_t cache_limit_;
  Index released_ = 0;
};

/// What an entry costs in memory and on the wire, roughly.
std::size_t cost(const Entry& entry);

}  // namespace nomad::raft
