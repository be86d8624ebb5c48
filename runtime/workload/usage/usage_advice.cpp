#include "runtime/workload/usage/usage_advice.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace nomad::workload {
namespace {

constexpr Nanoseconds least_time = std::chrono::hours{1};
constexpr double mebibyte = 1024 * 1024;

/// What is said of a resource, in its unit.
struct Terms {
  std::string_view resource;
  std::string_view unit;
  std::uint64_t least_saving;
  std::uint64_t least;  ///< Less may not be reserved.
  double full;          ///< The share of the reservation from which it is too little.
};

constexpr Terms memory_terms{"memory", "MiB", 64, 10, 0.9};
constexpr Terms cpu_terms{"cpu", "MHz", 100, 10, 1.0};

/// Up to tens below a hundred, to fifties below a thousand, to hundreds above.
std::uint64_t rounded_up(double value) {
  const double step = value <= 100 ? 10 : value <= 1'000 ? 50 : 100;
  return static_cast<std::uint64_t>(std::ceil(value / step) * step);
}

void judge(std::vector<UsageAdvice>& advice,
           const Terms& terms,
           double used,
           std::uint64_t reserved,
           Nanoseconds over) {
  if (reserved == 0) return;
  const auto suggested = std::max(rounded_up(used * 1.2), terms.least);
  const auto share = used / static_cast<double>(reserved);
  const bool is_much = share < 0.5 && suggested + terms.least_saving <= reserved;
  const bool is_little = share > terms.full && suggested > reserved;
  if (is_much || is_little)
    advice.push_back({.resource = terms.resource,
                      .unit = terms.unit,
                      .reserved = reserved,
                      .used = static_cast<std::uint64_t>(std::lround(used)),
                      .suggested = suggested,
                      .over = over});
}

}  // namespace

std::string UsageAdvice::text() const {
  const auto hours = std::lround(std::chrono::duration<double, std::ratio<3600>>{over}.count());
  return fmt::format("{} {} {} reserved, p95 {} {} over {} h: reserve about {}", resource, reserved,
                     unit, used, unit, hours, suggested);
}

std::vector<UsageAdvice> advise(const UsagePercentile& used, const Reservation& reserved) {
  std::vector<UsageAdvice> advice;
  if (used.over < least_time) return advice;
  judge(advice, memory_terms, used.memory / mebibyte, reserved.memory_mib, used.over);
  judge(advice, cpu_terms, used.cpu_mhz, reserved.cpu_mhz, used.over);
  return advice;
}

}  // namespace nomad::workload
