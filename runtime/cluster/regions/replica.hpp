// Replica: how a region copies one kind of what holds in all regions from the authoritative one, as
// a machine: answers of that region go in, and what is to be done next comes out.
//
// Its rows are compared with ours page by page, in the order of their keys: by index and hash of
// the original, which a copy keeps. Those that differ are fetched whole and stored, those that are
// not there any more are removed first, for a right that was taken away is urgent. When all pages
// are compared, the next question is held by the other region until something of the kind changes.
//
// Whatever fails or is lost, it begins with the first page again: nothing is remembered that a
// comparison would not find. So any order of answers, changes and failures ends alike, and a new
// leader begins with nothing.
//
// May depend on: runtime/base. Pure: the caller asks, fetches, stores and waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace nomad::cluster {

/// By what copies are compared with their originals.
struct RowMark {
  std::string key;
  std::uint64_t index = 0;  ///< The original's ModifyIndex.
  std::string hash;

  friend bool operator==(const RowMark&, const RowMark&) = default;
};

struct MarkPage {
  std::uint64_t index = 0;  ///< Of the last change of the kind in the authoritative region.
  std::vector<RowMark> marks;
  bool is_last = false;
};

struct RowDifference {
  std::vector<std::string> surplus;  ///< Here alone.
  std::vector<std::string> missing;  ///< Not here, or another one.
};

/// Both in the order of their keys.
RowDifference compare_rows(const std::vector<RowMark>& theirs, const std::vector<RowMark>& ours);

struct ReplicaOptions {
  std::chrono::milliseconds first_pause{250};  ///< After a failure; doubles.
  std::chrono::milliseconds longest_pause{15'000};
  std::size_t fetched_at_once = 200;
  std::size_t removed_at_once = 1'000;
};

class Replica {
public:
  /// Ask for the keys behind `after`; with `held_at` not 0 only when the index is another one.
  struct List {
    std::string after;
    std::uint64_t held_at = 0;
  };

  struct Fetch {
    std::vector<std::string> keys;
  };

  /// Remove these, as far as they can go, and store what was fetched last.
  struct Write {
    std::vector<std::string> removed;
  };

  struct Rest {
    std::chrono::milliseconds pause;
  };

  using Step = std::variant<List, Fetch, Write, Rest>;

  explicit Replica(ReplicaOptions options = {}) : options_{options} {}

  /// With this, and whenever a rest is over.
  Step begin();

  /// `ours` are the marks of what is here between the page's bounds: behind `after` of the
  /// question, up to its last mark, or all that follow if it is the last page.
  Step on_listed(const MarkPage& page, const std::vector<RowMark>& ours);

  /// The last key that `ours` of a page goes up to; "" if it is the last one.
  static std::string end_of(const MarkPage& page);

  /// `done` of the keys are dealt with, of which those that are still there came.
  Step on_fetched(std::size_t done);

  /// `left`: how many of the rows could not be stored or removed; `changed`: some were.
  Step on_written(std::size_t left, bool changed);

  /// `chance` is between 0 and 1. Pauses grow until something was changed, or a question was held.
  Step on_failed(double chance);

  /// Where the page that is asked for begins.
  const std::string& after() const { return after_; }

  /// Whether everything but `left` was as there when it was looked at last, and nothing is known
  /// to have changed since.
  bool is_level() const { return is_level_; }

  /// What else of the page is here alone, behind what is to be removed now.
  const std::vector<std::string>& surplus() const { return surplus_; }

  std::size_t left() const { return left_; }  ///< What could not be done; tried again.

private:
  Step next();

  ReplicaOptions options_;
  std::uint64_t level_index_ = 0;  ///< As of which everything is compared; 0: not yet.
  std::uint64_t pass_index_ = 0;   ///< Of the first page of this comparison.
  std::string after_;
  bool is_last_page_ = true;
  bool is_level_ = false;
  std::vector<std::string> surplus_;
  std::vector<std::string> missing_;
  std::size_t left_ = 0;
  unsigned failures_ = 0;
};

}  // namespace nomad::cluster
