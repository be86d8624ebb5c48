#include "runtime/workload/node/compute_queue.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using nomad::workload::ComputeQueue;
using Time = ComputeQueue::Time;

namespace {

/// A machine with two processors: what runs shares them, of which who has a long turn gets a tenth
/// of what the others get. Short turns end after 50 ms.
class TwoProcessors {
public:
  /// `wants`: time of a processor.
  void add(const std::string& owner, Time wants) {
    queue_.add(wants_.size(), owner);
    wants_.push_back(wants);
    ended_.push_back(Time{-1});
  }

  void run_until(Time end) {
    constexpr Time slice = 1ms;
    for (; now_ < end; now_ += slice) {
      while (auto turn = queue_.next(now_))
        running_.push_back({*turn, Time{0}});
      std::int64_t weights = 0;
      for (const auto& it : running_)
        weights += weight(it);
      std::vector<Running> left;
      for (auto& it : running_)
        if (!passes(it, std::min(slice, Time{2 * slice.count() * weight(it) / weights})))
          left.push_back(it);
      running_ = std::move(left);
    }
  }

  Time ended(std::size_t ticket) const { return ended_[ticket]; }

  std::size_t count() const { return wants_.size(); }

private:
  struct Running {
    ComputeQueue::Turn turn;
    Time had;
  };

  static std::int64_t weight(const Running& it) { return it.turn.is_long ? 1 : 10; }

  /// Whether the turn is over then.
  bool passes(Running& it, Time share) {
    it.had += share;
    const bool is_done = it.had >= wants_[it.turn.ticket];
    const Time most = it.turn.is_long ? Time{10s} : Time{50ms};
    if (!is_done && it.had < most) return false;
    queue_.over(it.turn, it.had, !is_done && !it.turn.is_long, now_);
    if (is_done || it.turn.is_long) ended_[it.turn.ticket] = now_;
    return true;
  }

  ComputeQueue queue_{ComputeQueue::Limits{}};
  std::vector<Time> wants_;
  std::vector<Time> ended_;
  std::vector<Running> running_;
  Time now_{0};
};

}  // namespace

TEST_CASE(
    "compute_queue: a quick one waits two seconds at most behind 22 slow ones of other jobs") {
  TwoProcessors machine;
  for (int i = 0; i < 22; ++i)
    machine.add("slow" + std::to_string(i), 1h);
  SUBCASE("that have come at the same time") {
    machine.add("honest", 5ms);
    machine.run_until(3s);
    CHECK(machine.ended(22) >= 0s);
    CHECK(machine.ended(22) < 2s);
  }
  SUBCASE("that are known by what they have used") {
    machine.run_until(30s);
    for (int i = 0; i < 22; ++i)
      machine.add("slow" + std::to_string(i), 1h);
    machine.add("honest", 5ms);
    machine.run_until(32s);
    CHECK(machine.ended(44) >= 0s);
    CHECK(machine.ended(44) < 30100ms);
  }
}

TEST_CASE("compute_queue: what a job has slow does not hold up what it has quick") {
  TwoProcessors machine;
  for (int i = 0; i < 3; ++i)
    machine.add("mixed", 1h);
  machine.add("mixed", 5ms);
  machine.run_until(1s);
  CHECK(machine.ended(3) >= 0s);
}

TEST_CASE("compute_queue: of those that need a long turn, who has used least comes first") {
  TwoProcessors machine;
  for (int i = 0; i < 12; ++i)
    machine.add("slow" + std::to_string(i % 3), 1h);
  machine.add("honest", 3s);
  machine.run_until(40s);
  CHECK(machine.ended(12) >= 0s);
  for (std::size_t i = 0; i < 12; ++i)
    CHECK(machine.ended(i) < 200s);
  machine.run_until(200s);
  for (std::size_t i = 0; i < machine.count(); ++i)
    CHECK(machine.ended(i) >= 0s);  // None is left out.
}

TEST_CASE("compute_queue: an owner has one place of each kind, and its use is forgotten") {
  ComputeQueue queue{ComputeQueue::Limits{}};
  queue.add(1, "a");
  queue.add(2, "a");
  queue.add(3, "b");
  const auto first = queue.next(0s);
  const auto second = queue.next(0s);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->ticket == 1);
  CHECK(second->ticket == 3);
  CHECK_FALSE(queue.next(0s));
  queue.over(*first, 10s, false, 0s);
  queue.over(*second, 1s, false, 0s);
  queue.add(4, "b");
  CHECK(queue.next(1s)->ticket == 4);  // Later than 2, and its owner has used less.
  const auto third = queue.next(1s);
  CHECK(third->ticket == 2);
  queue.over(*third, 0s, false, 2s);
  queue.add(5, "a");
  queue.add(6, "c");
  CHECK(queue.next(600s)->ticket == 5);
}
