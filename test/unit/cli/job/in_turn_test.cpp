#include "cli/job/in_turn.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace nomad::cli;

namespace {

struct Counted {
  explicit Counted(std::size_t count) : times(count) {}

  void one(std::size_t worker, std::size_t i) {
    was_shared = was_shared || busy.at(worker).exchange(true);
    const auto open = ++at_once;
    for (auto seen = most_at_once.load(); seen < open;)
      if (most_at_once.compare_exchange_weak(seen, open)) break;
    for (int turn = 0; turn < 100; ++turn)  // Others get theirs meanwhile.
      std::this_thread::yield();
    ++times[i];
    --at_once;
    busy[worker] = false;
  }

  bool all_once() const {
    return std::ranges::all_of(times, [](const auto& count) { return count == 1; });
  }

  std::vector<std::atomic<int>> times;
  std::array<std::atomic<bool>, 32> busy{};
  std::atomic<bool> was_shared{false};
  std::atomic<int> at_once{0};
  std::atomic<int> most_at_once{0};
};

}  // namespace

TEST_CASE("in turn: all is done once, and never more than so much at once") {
  for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 200U}) {
    CAPTURE(count);
    Counted counted{count};
    CHECK(in_turn(count, 4, [&](std::size_t worker, std::size_t i) {
            counted.one(worker, i);
          }).empty());
    CHECK(counted.all_once());
    CHECK(counted.most_at_once <= 4);
    CHECK_FALSE(counted.was_shared);
  }
}

TEST_CASE("in turn: no more threads are started than there is to do") {
  std::size_t started = 0;
  const auto counting = [&](std::function<void()> run) {
    ++started;
    return std::thread{std::move(run)};
  };
  Counted counted{3};
  CHECK(in_turn(
            3, 32, [&](std::size_t worker, std::size_t i) { counted.one(worker, i); }, counting)
            .empty());
  CHECK(started == 2);
}

TEST_CASE("in turn: where threads can't be started, fewer do it all") {
  for (const std::size_t room : {0U, 2U}) {
    CAPTURE(room);
    std::size_t started = 0;
    const auto limited = [&](std::function<void()> run) {
      if (started == room)
        throw std::system_error{std::make_error_code(std::errc::resource_unavailable_try_again)};
      ++started;
      return std::thread{std::move(run)};
    };
    Counted counted{50};
    CHECK(in_turn(
              50, 32, [&](std::size_t worker, std::size_t i) { counted.one(worker, i); }, limited)
          == "Resource temporarily unavailable");
    CHECK(counted.all_once());
    CHECK(counted.most_at_once <= static_cast<int>(room) + 1);
  }
}
