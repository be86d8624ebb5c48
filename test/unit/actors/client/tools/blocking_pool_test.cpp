#include "actors/client/tools/blocking_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include <sys/resource.h>

#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"

using namespace nomad;
using namespace std::chrono_literals;

namespace {

/// What a step waits at until it is opened.
class Gate {
public:
  void pass() {
    std::unique_lock lock{mutex_};
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }

  void wait_for(int steps) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this, steps] { return waiting_ >= steps; });
  }

  void open() {
    const std::lock_guard lock{mutex_};
    open_ = true;
    changed_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

}  // namespace

TEST_CASE("steps: slow ones give up their places, so that others go on") {
  actor::SystemConfig config;
  actor::System system{config};
  const auto steps
      = client::spawn_blocking_pool(system, {.slots = 2, .max_threads = 6, .patience = 20ms});
  Gate gate;
  const auto slow = client::blocking::make([&gate]() -> Result<> {
    gate.pass();
    return {};
  });
  std::atomic<int> ended = 0;
  const auto asker
      = actor::spawn(system, [&](actor::Any::pointer self) -> actor::Any::behavior_type {
          for (int i = 0; i < 5; ++i)
            self->request(steps, 1min, client::blocking::RunBlocking{slow})
                .then([&ended](const client::blocking::Outcome&) { ++ended; }, [](const Error&) {});
          return {};
        });
  gate.wait_for(5);  // With two threads, three would wait for ever.

  actor::BlockingAsker outside{system};
  int quick = 0;
  for (int i = 0; i < 3; ++i)
    outside.request(steps, 1min, client::blocking::make([]() -> Result<int> { return 7; }))
        .receive([&quick](const client::blocking::Outcome& outcome) { quick += outcome.as<int>(); },
                 [](const Error&) {});
  CHECK(quick == 21);
  CHECK(ended == 0);
  gate.open();
  while (ended < 5)
    std::this_thread::yield();
  actor::stop(asker);
  actor::stop(steps);
}

namespace {

Result<std::optional<int>> computed(int value) {
  return std::optional{value};
}

}  // namespace

TEST_CASE("steps: what computes has places of its own, of which one job gets one") {
  actor::SystemConfig config;
  actor::System system{config};
  const auto steps = client::spawn_blocking_pool(
      system, {.slots = 1, .max_threads = 16, .patience = 1h, .computing = {.short_slots = 2}});
  Gate gate;
  std::atomic<int> begun_of_a = 0;
  std::atomic<int> ended = 0;
  const auto asker
      = actor::spawn(system, [&](actor::Any::pointer self) -> actor::Any::behavior_type {
          for (const std::string owner : {"a", "a", "a", "a", "b"})
            self->request(steps, 1min,
                          client::blocking::make_computing(
                              owner,
                              [&gate, &begun_of_a, owner](const client::blocking::Turn&) {
                                if (owner == "a") ++begun_of_a;
                                gate.pass();
                                return computed(0);
                              }))
                .then([&ended](const client::blocking::Outcome&) { ++ended; }, [](const Error&) {});
          return {};
        });
  gate.wait_for(2);  // With one queue for all, the one of "b" would wait for those of "a".
  CHECK(begun_of_a == 1);

  actor::BlockingAsker outside{system};
  int quick = 0;
  outside.request(steps, 1min, client::blocking::make([]() -> Result<int> { return 7; }))
      .receive([&quick](const client::blocking::Outcome& outcome) { quick += outcome.as<int>(); },
               [](const Error&) {});
  CHECK(quick == 7);
  gate.open();
  while (ended < 5)
    std::this_thread::yield();
  CHECK(begun_of_a == 4);
  actor::stop(asker);
  actor::stop(steps);
}

TEST_CASE("steps: what does not end in a short turn gets a long one that gives way") {
  actor::SystemConfig config;
  actor::System system{config};
  const auto steps = client::spawn_blocking_pool(system);
  std::atomic<int> turns = 0;
  std::atomic<int> nice_of_long = 0;
  actor::BlockingAsker outside{system};
  const int nice_before = ::getpriority(PRIO_PROCESS, 0);
  int answer = 0;
  outside
      .request(steps, 1min,
               client::blocking::make_computing(
                   "a",
                   [&](const client::blocking::Turn& turn) -> Result<std::optional<int>> {
                     ++turns;
                     if (turn.most) return std::optional<int>{};
                     nice_of_long = ::getpriority(PRIO_PROCESS, 0);
                     return computed(5);
                   }))
      .receive([&answer](const client::blocking::Outcome& outcome) { answer = outcome.as<int>(); },
               [](const Error&) {});
  CHECK(answer == 5);
  CHECK(turns == 2);
  CHECK(nice_of_long == std::min(nice_before + 10, 19));
  actor::stop(steps);
}

TEST_CASE("steps: the end of all steps is told to what computes") {
  actor::SystemConfig config;
  actor::System system{config};
  const auto steps = client::spawn_blocking_pool(system);
  std::atomic<int> begun = 0;
  std::atomic<int> refused = 0;
  const auto asker
      = actor::spawn(system, [&](actor::Any::pointer self) -> actor::Any::behavior_type {
          for (const std::string owner : {"a", "b", "c", "d"})
            self->request(
                    steps, 1min,
                    client::blocking::make_computing(owner,
                                                     [&begun](const client::blocking::Turn& turn) {
                                                       ++begun;
                                                       while (!turn.stopped.stop_requested())
                                                         std::this_thread::yield();
                                                       return computed(0);
                                                     }))
                .then([](const client::blocking::Outcome&) {}, [&](const Error&) { ++refused; });
          return {};
        });
  while (begun < 2)
    std::this_thread::yield();
  actor::stop(steps);
  while (refused < 4)
    std::this_thread::yield();
  CHECK(begun == 2);  // The others never began.
  actor::stop(asker);
}
