#include "runtime/workload/heartbeat.hpp"

namespace nomad::workload {

using std::chrono::seconds;

Nanoseconds with_jitter(Nanoseconds base, Random& random) {
  if (base.count() <= 0) return base;
  return base + Nanoseconds{static_cast<std::int64_t>(random.below(base.count()))};
}

Nanoseconds heartbeat_retry(std::optional<Nanoseconds> left, Random& random) {
  if (!left) return with_jitter(seconds{15}, random);
  if (*left < -seconds{30}) return with_jitter(-*left, random);
  if (*left < seconds{0}) return with_jitter(seconds{1}, random);
  const Nanoseconds pause{static_cast<std::int64_t>(random.below(left->count()))};
  if (pause < seconds{1}) return with_jitter(seconds{1}, random);
  if (pause > seconds{30})
    return seconds{25} + Nanoseconds{static_cast<std::int64_t>(random.below(5'000'000'000))};
  return pause;
}

}  // namespace nomad::workload
