#include "runtime/net/query_pool.hpp"

#include <atomic>
#include <future>

#include <doctest/doctest.h>

#include "runtime/net/timer_queue.hpp"

using namespace nomad::net;
using namespace std::chrono_literals;

TEST_CASE("query_pool: jobs run at once on several threads, and a full queue refuses") {
  QueryPool pool{2, 1};
  std::promise<void> gate;
  auto open = gate.get_future().share();
  std::atomic<int> started{0};
  std::atomic<int> done{0};
  const auto blocking = [&] {
    ++started;
    open.wait();
    ++done;
  };

  for (int i = 0; i < 2; ++i) {
    std::function<void()> job = blocking;
    REQUIRE(pool.submit(job));
    while (started < i + 1)
      std::this_thread::yield();
  }
  std::function<void()> waiting = blocking;
  std::function<void()> refused = blocking;
  CHECK(pool.submit(waiting));
  CHECK_FALSE(pool.submit(refused));
  CHECK(refused);  // still the caller's

  gate.set_value();
  while (done < 3)
    std::this_thread::yield();
  pool.stop();
  CHECK_FALSE(pool.submit(refused));
}

TEST_CASE("timer_queue: calls in the order of the deadlines, and not what was cancelled") {
  TimerQueue timers;
  std::mutex guard;
  std::string order;
  std::promise<void> last;
  const auto note = [&](char c) {
    return [&, c] {
      const std::lock_guard lock{guard};
      order += c;
      if (c == 'd') last.set_value();
    };
  };

  timers.call_after(40ms, note('d'));
  timers.call_after(20ms, note('b'));
  const auto cancelled = timers.call_after(10ms, note('x'));
  timers.call_after(0ms, note('a'));
  CHECK(timers.cancel(cancelled));
  CHECK_FALSE(timers.cancel(cancelled));
  timers.call_after(30ms, note('c'));

  last.get_future().wait();
  CHECK(order == "abcd");
  CHECK(timers.size() == 0);
}

TEST_CASE("timer_queue: stops without calling what is left") {
  bool called = false;
  {
    TimerQueue timers;
    timers.call_after(1h, [&] { called = true; });
  }
  CHECK_FALSE(called);
}
