#include "runtime/net/timer_queue.hpp"

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace nomad::net {
namespace {

using namespace std::chrono_literals;

/// Alarms that go off when the test says so.
struct Alarms {
  std::vector<std::function<void()>> set;

  TimerQueue::Alarm alarm() {
    return [this](TimerQueue::Clock::duration, std::function<void()> action) {
      set.push_back(std::move(action));
    };
  }

  void go_off(std::size_t number) { std::exchange(set.at(number), nullptr)(); }
};

TEST_CASE("timer queue: one alarm counts, the earliest") {
  Alarms alarms;
  TimerQueue queue{alarms.alarm()};
  int called = 0;
  queue.call_after(1h, [&] { ++called; });
  CHECK(alarms.set.size() == 1);
  queue.call_after(2h, [&] { ++called; });
  CHECK(alarms.set.size() == 1);
  queue.call_after(-1ns, [&] { ++called; });
  REQUIRE(alarms.set.size() == 2);

  alarms.go_off(0);  // Of the hour, which an earlier one has replaced.
  CHECK(called == 0);
  CHECK(alarms.set.size() == 2);
  alarms.go_off(1);
  CHECK(called == 1);
  CHECK(alarms.set.size() == 3);  // For the hour, anew.
  CHECK(queue.size() == 2);
  alarms.go_off(2);  // Too early, as the alarms of a slow clock are.
  CHECK(alarms.set.size() == 4);
  CHECK(called == 1);
}

TEST_CASE("timer queue: what is cancelled is not called") {
  Alarms alarms;
  TimerQueue queue{alarms.alarm()};
  int called = 0;
  const auto first = queue.call_after(-1ns, [&] { ++called; });
  queue.call_after(-1ns, [&] { called += 10; });
  CHECK(queue.cancel(first));
  CHECK_FALSE(queue.cancel(first));
  alarms.go_off(0);
  CHECK(called == 10);
  CHECK(queue.size() == 0);
}

}  // namespace
}  // namespace nomad::net
