#include "runtime/workload/usage/usage_history.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace std::chrono_literals;
using workload::UsageHistory;
using workload::UsageSeries;

namespace {

constexpr double a_mib = 1024 * 1024;
constexpr Nanoseconds slot_start = 1000 * 300s;  ///< Where slots of both kinds begin.

/// A reading each `every`, from `slot_start` on, while `less_than` is later.
void fill_history(UsageHistory& history,
                  Nanoseconds every,
                  Nanoseconds less_than,
                  double cpu = 100) {
  for (Nanoseconds at{0}; at < less_than; at += every)
    history.add({.cpu_mhz = cpu, .memory = 50 * a_mib}, slot_start + at);
}

std::size_t known_points(const UsageSeries& series) {
  std::size_t count = 0;
  for (const auto& point : series.points)
    count += point.has_value() ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("usage history: nothing is known of what was never read") {
  const UsageHistory history;

  CHECK(history.last_hour(slot_start).points.empty());
  CHECK(history.last_day(slot_start).points.empty());
  CHECK(history.p95(slot_start).over == 0s);
}

TEST_CASE("usage history: a slot has the mean of its processor time and the most of its memory") {
  UsageHistory history;
  history.add({.cpu_mhz = 100, .memory = 10 * a_mib}, slot_start);
  history.add({.cpu_mhz = 300, .memory = 90 * a_mib}, slot_start + 4s);
  history.add({.cpu_mhz = 200, .memory = 20 * a_mib}, slot_start + 9s);
  history.add({.cpu_mhz = 1, .memory = a_mib}, slot_start + 10s);

  const auto series = history.last_hour(slot_start + 15s);

  REQUIRE(series.points.size() == 2);
  CHECK(series.points[0]->cpu_mhz == doctest::Approx(200).epsilon(0.03));
  CHECK(series.points[0]->memory == doctest::Approx(90 * a_mib).epsilon(0.02));
  CHECK_FALSE(series.points[0]->network.has_value());
  CHECK(series.points[1]->memory == doctest::Approx(a_mib).epsilon(0.02));
  CHECK(series.interval == 10s);
  CHECK(series.end == slot_start + 20s);
}

TEST_CASE("usage history: each quantity is right within what is said of it, and bounded") {
  for (const double factor : {1.0, 7.3, 512.0, 40'000.0, 900'000.0}) {
    UsageHistory history;
    history.add({.cpu_mhz = factor, .memory = 65'536 * factor, .network = 0}, slot_start);
    history.add({.cpu_mhz = factor,
                 .memory = 65'536 * factor,
                 .network = static_cast<std::uint64_t>(16 * factor * 10)},
                slot_start + 10s);
    history.add({}, slot_start + 20s);

    const auto point = *history.last_hour(slot_start + 20s).points[1];

    CHECK(point.cpu_mhz == doctest::Approx(factor).epsilon(0.03));
    CHECK(point.memory == doctest::Approx(65'536 * factor).epsilon(0.02));
    CHECK(*point.network == doctest::Approx(16 * factor).epsilon(0.10));
  }
  UsageHistory history;
  history.add({.cpu_mhz = 1e300, .memory = 1e300}, slot_start);
  history.add({.cpu_mhz = -5, .memory = -5}, slot_start + 10s);
  history.add({}, slot_start + 20s);
  const auto series = history.last_hour(slot_start + 20s);
  CHECK(series.points[0]->cpu_mhz > 1e6);
  CHECK(series.points[0]->memory > 4e12);
  CHECK(series.points[1]->cpu_mhz == 0);
  CHECK(series.points[1]->memory == 0);
}

TEST_CASE("usage history: an hour and a day are kept, and no more") {
  UsageHistory history;
  fill_history(history, 10s, 30h);
  const auto now = slot_start + 30h - 1s;

  const auto hour = history.last_hour(now);
  const auto day = history.last_day(now);

  CHECK(known_points(hour) == 360);
  CHECK(hour.end == slot_start + 30h);
  CHECK(known_points(day) == 288);
  CHECK(day.points.front()->cpu_mhz == doctest::Approx(100).epsilon(0.03));
  CHECK(day.end == slot_start + 30h);
  CHECK(history.p95(now).over == 24h);
}

TEST_CASE("usage history: what was not read is a gap, in both rings and around the wrap") {
  UsageHistory history;
  fill_history(history, 10s, 55min);
  history.add({.cpu_mhz = 7, .memory = a_mib}, slot_start + 70min);

  const auto hour = history.last_hour(slot_start + 70min);
  CHECK(hour.points.size() == 360);
  CHECK(known_points(hour)
        == 45 * 6 - 1 + 1);  // from the 10th minute's second slot on, and the last one
  CHECK(hour.points.back()->cpu_mhz == doctest::Approx(7).epsilon(0.03));
  const auto day = history.last_day(slot_start + 70min);
  CHECK(day.points.size() == 15);
  CHECK(known_points(day) == 12);
}

TEST_CASE("usage history: after a longer silence than a ring holds nothing old is left in it") {
  UsageHistory history;
  fill_history(history, 10s, 2h);
  const auto later = slot_start + 2h + 61min;
  CHECK(known_points(history.last_hour(later)) == 0);
  CHECK(known_points(history.last_day(later)) == 24);

  history.add({.cpu_mhz = 5, .memory = a_mib}, slot_start + 100h);

  CHECK(known_points(history.last_hour(slot_start + 100h)) == 1);
  CHECK(known_points(history.last_day(slot_start + 100h)) == 1);
  CHECK(history.last_hour(slot_start + 200h).points.empty());
}

TEST_CASE("usage history: a time before the newest is taken for the newest") {
  UsageHistory history;
  history.add({.cpu_mhz = 100, .memory = a_mib}, slot_start + 1h);
  history.add({.cpu_mhz = 300, .memory = a_mib}, slot_start);

  const auto hour = history.last_hour(slot_start + 1h);

  REQUIRE(hour.points.size() == 1);
  CHECK(hour.points[0]->cpu_mhz == doctest::Approx(200).epsilon(0.03));
  CHECK(history.last_hour(slot_start).points.size() == 1);
}

TEST_CASE("usage history: network is counted from the second reading of a run on") {
  UsageHistory history;
  history.add({.network = 1'000'000}, slot_start);
  history.add({.network = 3'000'000}, slot_start + 10s);
  history.restarted(slot_start + 15s);
  history.add({.network = 50}, slot_start + 20s);
  history.add({.network = 20}, slot_start + 30s);  // another interface
  history.add({}, slot_start + 40s);

  const auto hour = history.last_hour(slot_start + 40s);

  REQUIRE(hour.points.size() == 5);
  CHECK_FALSE(hour.points[0]->network.has_value());
  CHECK(*hour.points[1]->network == doctest::Approx(200'000).epsilon(0.10));
  for (const auto position : {2, 3, 4})
    CHECK_FALSE(hour.points[static_cast<std::size_t>(position)]->network.has_value());
}

TEST_CASE("usage history: restarts are counted, and the last ones have their times") {
  UsageHistory history;
  CHECK(history.restart_times().empty());
  for (int i = 0; i < 11; ++i)
    history.restarted(slot_start + i * 1min);

  CHECK(history.restarts() == 11);
  const auto times = history.restart_times();
  REQUIRE(times.size() == UsageHistory::most_restarts);
  CHECK(times.front() == slot_start + 3min);
  CHECK(times.back() == slot_start + 10min);
}

TEST_CASE(
    "usage history: the percentile weighs the last hour's slots and the day's by their time") {
  UsageHistory history;
  fill_history(history, 10s, 10h, 100);
  for (Nanoseconds at = 10h; at < 10h + 40min; at += 10s)
    history.add({.cpu_mhz = 1'000, .memory = 500 * a_mib}, slot_start + at);
  const auto now = slot_start + 10h + 40min - 1s;

  const auto used = history.p95(now);

  // 40 minutes of 10 h 40 min are 6.25 percent.
  CHECK(used.cpu_mhz == doctest::Approx(1'000).epsilon(0.03));
  CHECK(used.memory == doctest::Approx(500 * a_mib).epsilon(0.02));
  CHECK(used.over > 10h);
  history.add({.cpu_mhz = 100, .memory = a_mib}, now + 1s);
  for (Nanoseconds at = 10h + 40min; at < 16h; at += 10s)
    history.add({.cpu_mhz = 100, .memory = 50 * a_mib}, slot_start + at);
  CHECK(history.p95(slot_start + 16h - 1s).cpu_mhz == doctest::Approx(100).epsilon(0.03));
}
