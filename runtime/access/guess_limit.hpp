// GuessLimit: tells who shows unknown tokens again and again. What it counts by are addresses, or
// rather their keyed hashes, in a table of a fixed size, so that guessing takes no memory: who
// falls into the place of a guesser by chance is taken for one, which costs him a wait and no
// right.
//
// Times are arguments. Thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <mutex>
#include <string_view>

#include "runtime/access/grant.hpp"

namespace nomad::access {

struct GuessLimits {
  unsigned of_one = 50;    ///< Unknown tokens of one address in a window, and
  unsigned of_all = 2000;  ///< of all, each up to his own limit: more are guesses.
  std::chrono::milliseconds window{10'000};
};

class GuessLimit {
public:
  explicit GuessLimit(GuessLimits limits) : limits_{limits} {}

  /// A token of `remote`, "10.0.0.7:41234", was none.
  void note(std::string_view remote, Time now);

  bool is_over(std::string_view remote, Time now) const;

private:
  struct Count {
    std::int64_t window = -1;
    unsigned count = 0;

    void add(std::int64_t now);

    unsigned in(std::int64_t now) const { return window == now ? count : 0; }
  };

  std::size_t position_of(std::string_view remote) const;

  std::int64_t window_of(Time now) const { return now.time_since_epoch() / limits_.window; }

  const GuessLimits limits_;
  const TokenHash hash_;
  mutable std::mutex guard_;
  std::array<Count, 1024> of_one_{};
  Count of_all_;
};

}  // namespace nomad::access
