#include "actors/api/forward/leader_watch.hpp"

#include <future>

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using nomad::api::LeaderWatch;

namespace {

struct WatchFixture {
  nomad::net::TimerQueue timers;
  std::string leader = "a";
  std::shared_ptr<LeaderWatch> watch
      = std::make_shared<LeaderWatch>(timers, [this] { return leader; });
  LeaderWatch::Clock::time_point now{};
  int lost = 0;

  WatchFixture() { timers.stop(); }  // the test looks by itself

  LeaderWatch::Waiting wait(const std::string& for_whom) {
    return watch->wait_for(for_whom, LeaderWatch::answer_grace, [this] { ++lost; });
  }

  void look_after(std::chrono::milliseconds time) {
    now += time;
    watch->look(now);
  }
};

}  // namespace

TEST_CASE("who waits for a leader that leads on is left alone") {
  WatchFixture fixture;
  const auto waiting = fixture.wait("a");
  for (int i = 0; i < 100; ++i)
    fixture.look_after(1s);
  CHECK(fixture.lost == 0);
}

TEST_CASE("another leader ends the wait, after a moment and once") {
  WatchFixture fixture;
  const auto waiting = fixture.wait("a");
  const auto other = fixture.wait("b");
  fixture.leader = "b";
  fixture.look_after(LeaderWatch::answer_grace / 2);
  fixture.look_after(LeaderWatch::answer_grace / 2);
  CHECK(fixture.lost == 0);
  fixture.look_after(LeaderWatch::answer_grace / 2);
  CHECK(fixture.lost == 1);
  fixture.look_after(10s);
  CHECK(fixture.lost == 1);
}

TEST_CASE("no leader is no other leader") {
  WatchFixture fixture;
  const auto waiting = fixture.wait("a");
  fixture.leader.clear();
  for (int i = 0; i < 100; ++i)
    fixture.look_after(1s);
  CHECK(fixture.lost == 0);
}

TEST_CASE("a leader who leads again in time is waited for on") {
  WatchFixture fixture;
  const auto waiting = fixture.wait("a");
  fixture.leader = "b";
  fixture.look_after(250ms);
  fixture.leader = "a";
  fixture.look_after(250ms);
  fixture.leader = "b";
  fixture.look_after(10s);
  CHECK(fixture.lost == 0);
  fixture.look_after(1s);
  CHECK(fixture.lost == 1);
}

TEST_CASE("who has gone is not told") {
  WatchFixture fixture;
  {
    auto waiting = fixture.wait("a");
    auto moved = std::move(waiting);
    moved = LeaderWatch::Waiting{};
  }
  auto kept = fixture.wait("a");
  fixture.leader = "b";
  fixture.look_after(1s);
  fixture.look_after(1s);
  CHECK(fixture.lost == 1);
}

TEST_CASE("who waits may end his and others' waits when he is told") {
  WatchFixture fixture;
  LeaderWatch::Waiting first;
  LeaderWatch::Waiting second;
  const auto both = [&] {
    ++fixture.lost;
    first = {};
    second = {};
  };
  first = fixture.watch->wait_for("a", LeaderWatch::answer_grace, both);
  second = fixture.watch->wait_for("a", LeaderWatch::answer_grace, both);
  fixture.leader = "b";
  fixture.look_after(1s);
  fixture.look_after(1s);
  CHECK(fixture.lost == 2);
}

TEST_CASE("who looks for another leader is told of him, once") {
  WatchFixture fixture;
  int found = 0;
  const auto any = fixture.watch->wait_for("", 0ms, [&found] { ++found; });
  const auto other = fixture.watch->wait_for("a", 0ms, [&found] { found += 10; });
  fixture.look_after(0ms);
  CHECK(found == 1);
  fixture.leader.clear();
  fixture.look_after(0ms);
  CHECK(found == 1);
  fixture.leader = "b";
  fixture.look_after(0ms);
  fixture.look_after(0ms);
  CHECK(found == 11);
}

TEST_CASE("who has ceased to look for a leader is not told") {
  WatchFixture fixture;
  int found = 0;
  {
    const auto seeking = fixture.watch->wait_for("a", 0ms, [&found] { ++found; });
  }
  fixture.leader = "b";
  fixture.look_after(0ms);
  CHECK(found == 0);
}

TEST_CASE("who will wait no longer is told by the timers, without delay") {
  nomad::net::TimerQueue timers;
  std::promise<void> is_told;
  const auto watch = std::make_shared<LeaderWatch>(timers, [] { return std::string{"b"}; });
  const auto patient = watch->wait_for("b", LeaderWatch::answer_grace, [] {});
  const auto hasty = watch->wait_for("a", 0ms, [&is_told] { is_told.set_value(); });
  CHECK(is_told.get_future().wait_for(10s) == std::future_status::ready);
  timers.stop();
}
