#include "runtime/access/rate_limit.hpp"

#include <algorithm>
#include <iterator>

namespace nomad::access {
namespace {

/// Between looks for buckets to forget: each look goes through all of them.
constexpr std::chrono::milliseconds sweep_pause{1'000};

}  // namespace

RateLimit::RateLimit(Rate rate, std::size_t most)
    : rate_{rate.per_second},
      burst_{std::max(rate.burst > 0 ? rate.burst : 2 * rate.per_second, 1.0)},
      most_{most},
      shared_{burst_, Time{}} {}

void RateLimit::fill(Bucket& bucket, Time now) const {
  if (now <= bucket.at) return;
  const std::chrono::duration<double> passed = now - bucket.at;
  bucket.tokens = std::min(burst_, bucket.tokens + passed.count() * rate_);
  bucket.at = now;
}

void RateLimit::forget_full(Time now) {
  if (now < next_sweep_) return;
  next_sweep_ = now + sweep_pause;
  for (auto each = buckets_.begin(); each != buckets_.end();) {
    fill(each->second, now);
    each = each->second.tokens >= burst_ ? buckets_.erase(each) : std::next(each);
  }
}

RateLimit::Bucket& RateLimit::bucket_of(std::string_view identity, Time now) {
  if (const auto known = buckets_.find(identity); known != buckets_.end()) return known->second;
  if (buckets_.size() >= most_) forget_full(now);
  if (buckets_.size() >= most_) return shared_;
  return buckets_.emplace(identity, Bucket{burst_, now}).first->second;
}

std::optional<std::chrono::nanoseconds> RateLimit::take(std::string_view identity, Time now) {
  if (rate_ <= 0) return {};
  auto& bucket = bucket_of(identity, now);
  fill(bucket, now);
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return {};
  }
  const std::chrono::duration<double> wait{(1 - bucket.tokens) / rate_};
  return std::chrono::ceil<std::chrono::nanoseconds>(wait);
}

}  // namespace nomad::access
