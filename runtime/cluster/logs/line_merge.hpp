// LineMerge: the lines of many logs as one, in the order of their times as far as that can be had.
//
// Each source tells its lines in its own order. As long as a source has told neither all that there
// was nor that it is over, and none of its lines is here, the others' lines wait for it: its next
// one may be older. Who gives it up (one that is slow) lets the others go on; what it tells later
// comes late. Lines that come after a source has told all that there was are news, for which nobody
// waits. With `tail` nothing goes out before all has been told, and then the last lines of each
// source alone.
//
// Bounds: `wants` says whether a source may tell more; what it tells all the same is taken. What is
// kept of a tail is `most_tail_bytes` at most: of longer ones the oldest lines are missing.
//
// Pure. A line costs the logarithm of the number of sources.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nomad::cluster {

class LineMerge {
public:
  static constexpr std::size_t most_waiting_bytes = 128 * 1024;  ///< Of a source.
  static constexpr std::size_t most_tail_bytes = 4 * 1024 * 1024;

  struct Line {
    std::size_t source = 0;
    std::int64_t time = 0;  ///< Unix nanoseconds.
    std::string text{};
  };

  /// Without `tail` all lines go out; with it, so many of each source.
  explicit LineMerge(std::optional<std::size_t> tail = {}) : tail_{tail} {}

  /// The number of a new source.
  std::size_t add();

  /// Of a source that has not ended.
  void tell(Line line);

  /// The source has told all that there was; what follows is news.
  void told_all(std::size_t source);

  /// The same, and nothing follows.
  void ended(std::size_t source);

  /// Nobody waits for it any more.
  void give_up(std::size_t source) { told_all(source); }

  /// Whether sources will be added whose lines belong to the tail: it is not out before.
  void expect_more(bool expects) { expects_more_ = expects; }

  bool wants(std::size_t source) const;

  /// Whether the others wait for it now.
  bool is_awaited(std::size_t source) const;

  /// The lines that may go out now, in order: some `most_bytes` of them.
  std::vector<Line> take(std::size_t most_bytes);

  /// Of all lines that are here and not yet in the tail.
  std::size_t waiting_bytes() const { return waiting_bytes_; }

  /// Every source has told all that there was, or was given up, and all of that has been taken.
  bool has_told_all() const { return telling_ == 0 && history_ == 0 && !tail_ && kept_.empty(); }

  /// Every source has ended, and all has been taken.
  bool is_over() const { return ended_ == sources_.size() && heads_.empty() && kept_.empty(); }

private:
  using Kept = std::multimap<std::int64_t, Line>;

  struct Waiting {
    Line line;
    bool is_news = false;
  };

  struct Source {
    std::deque<Waiting> lines;
    std::size_t bytes = 0;
    bool told_all = false;
    bool has_ended = false;
    std::int64_t latest_kept = std::numeric_limits<std::int64_t>::min();  ///< Time in the tail.
    std::deque<Kept::iterator> kept{};  ///< Its lines in the tail, the oldest first.
  };

  Line pop();
  void keep(Line line);
  void drop_oldest(Source& source);

  std::optional<std::size_t> tail_;  ///< None once the tail is out.
  std::vector<Source> sources_;
  std::set<std::pair<std::int64_t, std::size_t>> heads_;  ///< Of sources with lines: time, source.
  std::size_t silent_ = 0;   ///< Sources that have not told all, without a line here.
  std::size_t telling_ = 0;  ///< Sources that have not told all.
  std::size_t history_ = 0;  ///< Lines here that are no news.
  std::size_t ended_ = 0;
  std::size_t waiting_bytes_ = 0;
  bool expects_more_ = false;
  /// The tail, until all has been told; then what is left to take of it. By its time, and that of a
  /// source's lines before it if that is later.
  Kept kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace nomad::cluster
