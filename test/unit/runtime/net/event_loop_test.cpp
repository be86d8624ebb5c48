#include "runtime/net/event_loop.hpp"

#include <atomic>
#include <future>
#include <stdexcept>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

using namespace nomad::net;

TEST_CASE("event_loop: what is posted runs in order on its thread, and not after it stopped") {
  EventLoop loop;
  std::vector<int> order;
  loop.post([&] { order.push_back(1); });
  loop.start();
  CHECK_FALSE(loop.is_current());
  loop.post([&] {
    CHECK(loop.is_current());
    order.push_back(2);
    loop.post([&] { order.push_back(3); });
  });
  loop.stop([&] { loop.post([&] { order.push_back(9); }); });
  REQUIRE(order.size() == 4);
  CHECK(order.back() == 9);  // posted by the last action, which is still in time
  loop.post([&] { order.push_back(10); });
  loop.stop();
  CHECK(order.size() == 4);
}

TEST_CASE("event_loop: a descriptor is watched until the loop stops") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  {
    EventLoop loop;
    loop.start();
    std::promise<void> seen_twice;
    int count = 0;
    loop.post([&] {
      loop.watch(ends[0], [&] {
        char byte = 0;
        CHECK(::read(ends[0], &byte, 1) == 1);
        if (++count == 2) seen_twice.set_value();
      });
    });
    for (int i = 0; i < 2; ++i)
      CHECK(::write(ends[1], "x", 1) == 1);
    seen_twice.get_future().wait();
    loop.stop();
    CHECK(count == 2);
  }
  CHECK(::write(ends[1], "x", 1) == 1);  // it was not closed
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("event_loop: of two alarms the later call counts, and none comes after the end") {
  using Clock = std::chrono::steady_clock;
  std::promise<int> first;
  std::atomic<int> count{0};
  EventLoop loop;
  loop.start();
  const auto begin = Clock::now();
  loop.post([&] {
    loop.wake_at(begin + std::chrono::hours{1}, [&] { first.set_value(1); });
    loop.wake_at(begin + std::chrono::milliseconds{20}, [&] {
      ++count;
      first.set_value(2);
      loop.wake_at(begin + std::chrono::hours{1}, [&] { ++count; });
    });
  });
  CHECK(first.get_future().get() == 2);
  CHECK(Clock::now() - begin >= std::chrono::milliseconds{20});
  loop.stop();
  CHECK(count == 1);
}

TEST_CASE(
    "event_loop: what one throws keeps nothing else from running, nor the loop from its end") {
  EventLoop loop;
  std::vector<int> order;
  for (int i = 0; i < 3; ++i)  // one batch
    loop.post([&order, i] {
      order.push_back(i);
      if (i != 1) throw std::runtime_error{"a bug"};
    });
  loop.start();
  loop.stop([] { throw std::runtime_error{"a bug at the end"}; });
  CHECK(order == std::vector{0, 1, 2});
}

TEST_CASE("event_loop: one that was never started stops") {
  EventLoop loop;
  loop.post([] { FAIL("it never runs"); });
  loop.stop();
}

TEST_CASE("event_loop: its turns outlive it, and are nobody's then") {
  nomad::Turns turns;
  int ran = 0;
  {
    EventLoop loop;
    turns = loop.turns();
    turns.post([&] { ++ran; });
    loop.start();
    loop.stop();
  }
  CHECK(ran == 1);
  nomad::Turns::Action late = [&] { ++ran; };
  CHECK_FALSE(turns.try_post(late));
  CHECK(ran == 1);
}
