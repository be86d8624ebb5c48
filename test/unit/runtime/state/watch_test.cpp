#include "runtime/state/watch.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using nomad::state::Watches;
using nomad::state::WatchKey;

namespace {

constexpr std::uint32_t jobs = 1;
constexpr std::uint32_t nodes = 2;

}  // namespace

TEST_CASE("Watches: 10,000 waiters, a change wakes only its own") {
  Watches watches;
  std::vector<int> called(10000, 0);
  std::vector<Watches::Subscription> subscriptions;
  for (std::size_t i = 0; i < called.size(); ++i)
    subscriptions.push_back(watches.subscribe({{nodes, "node" + std::to_string(i), false}},
                                              [&called, i] { ++called[i]; }));

  watches.notify({{nodes, "node77"}, {nodes, "node4242"}, {jobs, "node5"}, {nodes, "node"}});

  for (std::size_t i = 0; i < called.size(); ++i)
    CHECK(called[i] == (i == 77 || i == 4242));
  CHECK(watches.size() == 9998);
  CHECK_FALSE(subscriptions[77].active());
  CHECK(subscriptions[78].active());
}

TEST_CASE("Watches: a prefix is woken by every key that begins with it, once") {
  Watches watches;
  int exact = 0, by_prefix = 0, all = 0;
  const auto first = watches.subscribe({{jobs, "default/web", false}}, [&] { ++exact; });
  const auto second = watches.subscribe({{jobs, "default/", true}}, [&] { ++by_prefix; });
  const auto third = watches.subscribe({{jobs, "", true}}, [&] { ++all; });

  watches.notify({{jobs, "other/web"}});
  CHECK(std::vector{exact, by_prefix, all} == std::vector{0, 0, 1});
  watches.notify({{jobs, "default/web"}, {jobs, "default/api"}});
  CHECK(std::vector{exact, by_prefix, all} == std::vector{1, 1, 1});
  watches.notify({{jobs, "default/web"}});
  CHECK(std::vector{exact, by_prefix, all} == std::vector{1, 1, 1});
  CHECK(watches.size() == 0);
}

TEST_CASE("Watches: several keys in one subscription call once together") {
  Watches watches;
  int called = 0;
  auto subscription = watches.subscribe({{jobs, "a", false}, {jobs, "a", false}, {nodes, "", true}},
                                        [&] { ++called; });

  watches.notify({{nodes, "n"}, {jobs, "a"}});
  watches.notify({{jobs, "a"}});

  CHECK(called == 1);
  CHECK(watches.size() == 0);
}

TEST_CASE("Watches: cancelled and destroyed subscriptions do not call, moved ones do") {
  Watches watches;
  int called = 0;
  auto cancelled = watches.subscribe({{jobs, "a", false}, {jobs, "b", true}}, [&] { ++called; });
  cancelled.cancel();
  {
    const auto dropped = watches.subscribe({{jobs, "", true}}, [&] { called += 10; });
  }
  auto moved_from = watches.subscribe({{jobs, "a", false}}, [&] { called += 100; });
  auto kept = std::move(moved_from);
  moved_from.cancel();

  watches.notify({{jobs, "a"}, {jobs, "bc"}});

  CHECK(called == 100);
  CHECK(watches.size() == 0);
}

TEST_CASE("Watches: a callback may subscribe again; notify_all wakes everyone") {
  Watches watches;
  int called = 0;
  Watches::Subscription subscription;
  std::function<void()> again = [&] {
    ++called;
    subscription = watches.subscribe({{jobs, "a", false}}, again);
  };
  again();

  watches.notify({{jobs, "a"}});
  watches.notify_all();

  CHECK(called == 3);
  CHECK(watches.size() == 1);
  subscription.cancel();
  CHECK(watches.size() == 0);
}

TEST_CASE("Watches: a prefix is woken by the key that is the whole of it") {
  Watches watches;
  int called = 0;
  const auto subscription = watches.subscribe({{jobs, "ab", true}}, [&] { ++called; });
  watches.notify({{jobs, "a"}});
  CHECK(called == 0);
  watches.notify({{jobs, "ab"}});
  CHECK(called == 1);
}

TEST_CASE("Watches: who stops waiting takes nobody along") {
  Watches watches;
  int called = 0;
  const auto count = [&] { ++called; };
  SUBCASE("of those that wait for the same key") {
    auto leaves = watches.subscribe({{jobs, "ab", false}}, count);
    const auto stays = watches.subscribe({{jobs, "ab", false}}, count);
    leaves.cancel();
    watches.notify({{jobs, "ab"}});
    CHECK(called == 1);
  }
  SUBCASE("of those that wait for the same prefix") {
    auto leaves = watches.subscribe({{jobs, "ab", true}}, count);
    const auto stays = watches.subscribe({{jobs, "ab", true}}, count);
    leaves.cancel();
    watches.notify({{jobs, "abc"}});
    CHECK(called == 1);
  }
  SUBCASE("of those that wait for another prefix of the same length") {
    auto leaves = watches.subscribe({{jobs, "ab", true}}, count);
    const auto stays = watches.subscribe({{jobs, "cd", true}}, count);
    leaves.cancel();
    watches.notify({{jobs, "cde"}});
    CHECK(called == 1);
  }
  SUBCASE("of those that wait for a prefix as long as its key") {
    auto leaves = watches.subscribe({{jobs, "ab", false}}, count);
    const auto stays = watches.subscribe({{jobs, "cd", true}}, count);
    leaves.cancel();
    watches.notify({{jobs, "cde"}});
    CHECK(called == 1);
  }
  CHECK(watches.size() == 0);
}

TEST_CASE("Watches: a prefix that nobody waited for any more can be waited for again") {
  Watches watches;
  int called = 0;
  watches.subscribe({{jobs, "ab", true}}, [&] { called += 10; }).cancel();
  const auto again = watches.subscribe({{jobs, "ab", true}}, [&] { ++called; });
  watches.notify({{jobs, "abc"}});
  CHECK(called == 1);
}

TEST_CASE("Watches: threads subscribe and cancel while another notifies") {
  Watches watches;
  std::atomic<int> called{0};
  std::atomic<int> finished{0};
  std::vector<std::thread> waiters;
  for (int t = 0; t < 3; ++t)
    waiters.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        auto own = watches.subscribe({{nodes, std::to_string(t), false}}, [&] { ++called; });
        const auto other = watches.subscribe({{jobs, "never", true}}, [&] { called += 10000; });
        while (i % 2 == 0 && own.active())
          std::this_thread::yield();
      }
      ++finished;
    });
  while (finished < 3)
    watches.notify({{nodes, "0"}, {nodes, "1"}, {nodes, "2"}});
  for (auto& waiter : waiters)
    waiter.join();

  CHECK(called >= 450);
  CHECK(called <= 900);
  CHECK(watches.size() == 0);
}
