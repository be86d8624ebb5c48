// When checks run.
#include "runtime/workload/checks/check_schedule.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace nomad;
using namespace nomad::workload;

namespace {

using Keys = std::vector<CheckSchedule::Key>;

/// What begins until `until`, with its time; each run takes `takes`.
std::vector<std::pair<Nanoseconds, CheckSchedule::Key>> play(CheckSchedule& schedule,
                                                             Nanoseconds until,
                                                             Nanoseconds takes) {
  std::vector<std::pair<Nanoseconds, CheckSchedule::Key>> begun;
  std::multimap<Nanoseconds, CheckSchedule::Key> ends;
  for (Nanoseconds now{0}; now <= until;) {
    while (!ends.empty() && ends.begin()->first <= now) {
      schedule.finished(ends.begin()->second, now);
      ends.erase(ends.begin());
    }
    for (const auto key : schedule.begin_due(now)) {
      begun.emplace_back(now, key);
      ends.emplace(now + takes, key);
    }
    auto then = schedule.next();
    if (!ends.empty()) then = std::min(then.value_or(ends.begin()->first), ends.begin()->first);
    if (!then) break;
    now = *then;
  }
  return begun;
}

}  // namespace

TEST_CASE(
    "check_schedule: the first run is after a quarter to three quarters, then one an interval") {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    CheckSchedule schedule{{}, seed};
    schedule.add(7, "a", 10s, 0s);
    const auto begun = play(schedule, 1min, 1s);
    REQUIRE(begun.size() >= 6);
    CHECK(begun[0].first >= 2500ms);
    CHECK(begun[0].first < 7500ms);
    for (std::size_t i = 1; i < begun.size(); ++i)
      CHECK(begun[i].first - begun[i - 1].first == 10s);
  }
}

TEST_CASE("check_schedule: checks that begin together spread over half of their interval") {
  CheckSchedule schedule{{.in_all = 100'000, .per_group = 100'000}, 1};
  for (CheckSchedule::Key key = 0; key < 1000; ++key)
    schedule.add(key, "a", 10s, 0s);
  std::map<std::int64_t, int> by_second;
  for (const auto& [at, key] : play(schedule, 9999ms, 1ms))
    ++by_second[at / 1s];
  CHECK(by_second.size() == 6);
  for (const auto& [second, count] : by_second)
    CHECK(count < 300);
}

TEST_CASE("check_schedule: a check that takes long runs once at a time, and stays in step") {
  CheckSchedule schedule{{}, 1};
  schedule.add(1, "a", 10s, 0s);
  const auto begun = play(schedule, 2min, 25s);
  REQUIRE(begun.size() >= 4);
  for (std::size_t i = 1; i < begun.size(); ++i)
    CHECK(begun[i].first - begun[i - 1].first == 30s);
}

TEST_CASE("check_schedule: a run that ends when the next is due leaves that one out") {
  CheckSchedule schedule{{}, 1};
  schedule.add(1, "a", 10s, 0s);
  const auto first = *schedule.next();
  CHECK(schedule.begin_due(first) == Keys{1});
  schedule.finished(1, first + 10s);
  CHECK(*schedule.next() == first + 20s);
}

TEST_CASE("check_schedule: one group's hanging checks do not hold up another's") {
  CheckSchedule schedule{{.in_all = 10, .per_group = 4}, 1};
  for (CheckSchedule::Key key = 0; key < 100; ++key)
    schedule.add(key, "hangs", 1s, 0s);
  schedule.add(1000, "b", 1s, 0s);
  const auto begun = schedule.begin_due(1s);
  CHECK(begun.size() == 5);
  CHECK(std::count(begun.begin(), begun.end(), 1000) == 1);
  CHECK(schedule.running() == 5);
  CHECK_FALSE(schedule.next().has_value());  // all others wait for one of these
  CHECK(schedule.begin_due(1min).empty());

  schedule.finished(1000, 1500ms);
  CHECK(schedule.begin_due(3s) == Keys{1000});
  schedule.finished(begun.front() == 1000 ? begun[1] : begun[0], 4s);
  CHECK(schedule.begin_due(4s).size() == 1);
}

TEST_CASE("check_schedule: groups take turns when everything is taken") {
  CheckSchedule schedule{{.in_all = 2, .per_group = 32}, 1};
  for (CheckSchedule::Key key = 0; key < 10; ++key)
    schedule.add(key, "a", 1s, 0s);
  schedule.add(100, "b", 1s, 1s);
  schedule.add(101, "b", 1s, 1s);
  auto begun = schedule.begin_due(2s);
  CHECK(begun.size() == 2);
  CHECK(std::count_if(begun.begin(), begun.end(), [](auto key) { return key >= 100; }) == 1);
}

TEST_CASE("check_schedule: who is removed does not run, whatever he was doing") {
  CheckSchedule schedule{{.in_all = 10, .per_group = 1}, 1};
  for (CheckSchedule::Key key = 1; key <= 3; ++key)
    schedule.add(key, "a", 1s, 0s);
  const auto running = schedule.begin_due(1s);
  REQUIRE(running.size() == 1);
  schedule.remove(running[0]);  // running: the next may begin at once
  const auto next = schedule.begin_due(1s);
  REQUIRE(next.size() == 1);
  const auto last = 6 - running[0] - next[0];
  schedule.remove(last);  // waiting
  schedule.finished(next[0], 1s);
  schedule.finished(running[0], 1s);  // what was removed ends
  schedule.remove(12345);
  CHECK(schedule.begin_due(1s).empty());
  schedule.remove(next[0]);  // asleep
  CHECK(schedule.size() == 0);
  CHECK(schedule.running() == 0);
  CHECK_FALSE(schedule.next().has_value());
  schedule.add(4, "a", 1s, 2s);  // a new group of the same name
  CHECK(schedule.begin_due(3s) == Keys{4});
}

TEST_CASE("check_schedule: intervals that make no sense are made into some that do") {
  CheckSchedule schedule{{}, 1};
  schedule.add(1, "a", -1s, 0s);
  schedule.add(2, "a", Nanoseconds::max(), 0s);
  CHECK(*schedule.next() <= 1ms);
  CHECK(schedule.begin_due(1ms) == Keys{1});
  schedule.finished(1, 1ms);
  CHECK(schedule.next().has_value());
  CHECK(schedule.begin_due(24h * 300).size() == 2);
}
