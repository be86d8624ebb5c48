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

TEST_CASE("query_pool: an owner has one thread, and some places in the queue") {
  QueryPool pool{2, 100, 3};
  std::promise<void> gate;
  auto open = gate.get_future().share();
  std::atomic<int> of_a{0};
  std::atomic<int> done{0};
  std::promise<void> of_b;
  const std::function<void()> slow = [&] {
    ++of_a;
    open.wait();
    ++done;
  };

  std::function<void()> first = slow;
  REQUIRE(pool.submit(first, "a"));
  while (of_a < 1)
    std::this_thread::yield();
  for (int i = 0; i < 3; ++i) {
    std::function<void()> job = slow;
    CHECK(pool.submit(job, "a"));
  }
  std::function<void()> refused = slow;
  CHECK_FALSE(pool.submit(refused, "a"));
  std::function<void()> other = [&of_b] { of_b.set_value(); };
  CHECK(pool.submit(other, "b"));
  of_b.get_future().wait();  // Though three came before it, and none of them has ended.
  CHECK(of_a == 1);

  gate.set_value();
  while (done < 4)
    std::this_thread::yield();
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
