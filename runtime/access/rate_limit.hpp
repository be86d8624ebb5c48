// RateLimit: how often one identity may ask: a bucket of tokens for each, which fills at a rate up
// to a burst. Each request takes one; who finds none is told how long it takes until there is one.
//
// The table is bounded. A bucket that is full again says nothing and is forgotten; who finds the
// table full of others shares one bucket with all who do, so that showing ever new identities gains
// nothing.
//
// Pure: the time is an argument. One thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace nomad::access {

struct Rate {
  double per_second = 0;  ///< 0: no limit.
  double burst = 0;       ///< 0: twice the rate. Never less than one.
};

class RateLimit {
public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t most_identities = 10'000;

  explicit RateLimit(Rate rate, std::size_t most = most_identities);

  /// Nothing: go on. Else how long until `identity` may ask again.
  std::optional<std::chrono::nanoseconds> take(std::string_view identity, Time now);

  std::size_t size() const { return buckets_.size(); }

private:
  struct Bucket {
    double tokens;
    Time at;
  };

  struct Hash {
    using is_transparent = void;

    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  void fill(Bucket& bucket, Time now) const;
  Bucket& bucket_of(std::string_view identity, Time now);
  void forget_full(Time now);

  const double rate_;
  const double burst_;
  const std::size_t most_;
  std::unordered_map<std::string, Bucket, Hash, std::equal_to<>> buckets_;
  Bucket shared_;
  Time next_sweep_{};
};

}  // namespace nomad::access
