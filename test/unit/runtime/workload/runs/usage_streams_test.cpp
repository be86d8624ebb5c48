#include "runtime/workload/runs/usage_streams.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

using namespace nomad;
using namespace nomad::workload;
using namespace std::chrono_literals;

namespace {

using Reading = UsageStreams::Reading;

std::vector<std::string> tasks_of(const std::vector<Reading>& readings) {
  std::vector<std::string> tasks;
  for (const auto& reading : readings)
    tasks.push_back(reading.id.task);
  return tasks;
}

/// Tasks that are followed and dropped as it comes, with one timer and a machine whose readings
/// take their time.
class StreamWorld {
public:
  explicit StreamWorld(std::uint64_t seed) : random_{seed} {}

  void step() {
    const auto dice = random_.below(100);
    const TaskId id{"a", std::string(1, static_cast<char>('a' + random_.below(4)))};
    if (dice < 20)
      follow(id, Nanoseconds{500ms} * random_.below(6));
    else if (dice < 30)
      drop(id);
    else if (dice < 60)
      end_one();
    else
      advance(Nanoseconds{100ms} * random_.below(30));
    set_timer();
  }

private:
  struct Task {
    int run = 0;
    Nanoseconds interval{0};
    Nanoseconds last{0};  ///< The last tick.
    bool is_read = false;
  };

  struct Open {
    Reading reading;
    int run;
  };

  void follow(const TaskId& id, Nanoseconds interval) {
    streams_.follow(id, interval, now_);
    if (interval.count() == 0) return static_cast<void>(tasks_.erase(id));
    auto& task = tasks_[id];
    if (task.run == 0) task.run = ++runs_;
    if (std::exchange(task.interval, interval) != interval) task.last = now_;
  }

  void drop(const TaskId& id) {
    streams_.drop(id);
    tasks_.erase(id);
  }

  void end_one() {
    if (open_.empty()) return;
    const auto position = static_cast<std::ptrdiff_t>(random_.below(open_.size()));
    const auto one = open_[static_cast<std::size_t>(position)];
    open_.erase(open_.begin() + position);
    const auto task = tasks_.find(one.reading.id);
    const bool goes_on = task != tasks_.end() && task->second.run == one.run;
    REQUIRE(streams_.end_reading(one.reading) == goes_on);
    if (goes_on) task->second.is_read = false;
  }

  /// To a moment at or behind the timer's.
  void advance(Nanoseconds time) {
    now_ += time;
    if (!timer_ || timer_->at > now_) return;
    const auto timer = *std::exchange(timer_, {});
    if (timer.round > 1) REQUIRE(streams_.take_due(timer.round - 1, now_).empty());
    for (const auto& reading : streams_.take_due(timer.round, now_)) {
      auto& task = tasks_.at(reading.id);
      REQUIRE(reading.interval == task.interval);
      REQUIRE_FALSE(std::exchange(task.is_read, true));
      open_.push_back({reading, task.run});
    }
    for (auto& [id, task] : tasks_) {
      const auto tick = now_ / task.interval * task.interval;
      if (tick <= task.last) continue;
      REQUIRE(task.is_read);  // None is left out but of those that are being read.
      task.last = tick;
    }
  }

  void set_timer() {
    if (const auto wake = streams_.take_wake(now_)) timer_ = {now_ + wake->delay, wake->round};
    REQUIRE_FALSE(streams_.take_wake(now_));
    if (tasks_.empty()) return;
    auto next = Nanoseconds::max();
    for (const auto& [id, task] : tasks_)
      next = std::min(next, task.interval * (now_ / task.interval + 1));
    REQUIRE(timer_);
    REQUIRE(timer_->at <= next);
  }

  struct Timer {
    Nanoseconds at{0};
    std::uint64_t round = 0;
  };

  Random random_;
  UsageStreams streams_;
  Nanoseconds now_{0};
  std::optional<Timer> timer_;
  std::map<TaskId, Task> tasks_;
  std::vector<Open> open_;
  int runs_ = 0;
};

const TaskId a{"1", "a"};
const TaskId b{"2", "b"};

}  // namespace

TEST_CASE("usage_streams: tasks of one interval are due together, whenever they came") {
  UsageStreams streams;
  CHECK_FALSE(streams.take_wake(0s));
  streams.follow(a, 1s, 10'100ms);
  auto wake = streams.take_wake(10'100ms);
  REQUIRE(wake);
  CHECK(wake->delay == 900ms);
  streams.follow(b, 1s, 10'900ms);
  CHECK_FALSE(streams.take_wake(10'900ms));
  CHECK(streams.take_due(wake->round, 10'999ms).empty());
  wake = streams.take_wake(10'999ms);
  REQUIRE(wake);
  const auto due = streams.take_due(wake->round, 11s);
  CHECK(tasks_of(due) == std::vector<std::string>{"a", "b"});
  wake = streams.take_wake(11s);
  REQUIRE(wake);
  CHECK(wake->delay == 1s);
}

TEST_CASE("usage_streams: who is late reads once, and not before the last reading is over") {
  UsageStreams streams;
  streams.follow(a, 1s, 0s);
  const auto due = streams.take_due(streams.take_wake(0s)->round, 10'500ms);
  REQUIRE(due.size() == 1);
  CHECK(streams.take_due(streams.take_wake(10'500ms)->round, 11s).empty());
  CHECK(streams.end_reading(due.front()));
  CHECK(streams.take_due(streams.take_wake(11s)->round, 12s).size() == 1);
}

TEST_CASE("usage_streams: an earlier tick takes the place of the timer") {
  UsageStreams streams;
  streams.follow(a, 5s, 0s);
  const auto late = streams.take_wake(0s);
  streams.follow(b, 1s, 0s);
  const auto early = streams.take_wake(0s);
  REQUIRE(early);
  CHECK(early->delay == 1s);
  CHECK(streams.take_due(late->round, 5s).empty());
  CHECK(streams.take_due(early->round, 5s).size() == 2);
}

TEST_CASE("usage_streams: asking again changes the interval and nothing else; 0 ends it") {
  UsageStreams streams;
  streams.follow(a, 2s, 0s);
  streams.follow(a, 2s, 1'900ms);
  CHECK(streams.take_wake(1'900ms)->delay == 100ms);
  const auto due = streams.take_due(1, 2s);
  streams.follow(a, 5s, 2s);
  CHECK(streams.take_wake(2s)->delay == 3s);
  CHECK(streams.end_reading(due.at(0)));
  streams.follow(a, 0s, 2s);
  CHECK_FALSE(streams.follows(a));
  CHECK_FALSE(streams.take_wake(2s));
}

TEST_CASE("usage_streams: what was read of another run is not told") {
  UsageStreams streams;
  streams.follow(a, 1s, 0s);
  const auto due = streams.take_due(streams.take_wake(0s)->round, 1s);
  streams.drop(a);
  CHECK_FALSE(streams.end_reading(due.at(0)));
  streams.follow(a, 1s, 1s);
  CHECK_FALSE(streams.end_reading(due.at(0)));
  CHECK(streams.take_due(streams.take_wake(1s)->round, 2s).size() == 1);
}

TEST_CASE("usage_streams: an interval that nobody can keep is one that can be") {
  CHECK(usage_interval(-1s) == 0s);
  CHECK(usage_interval(0s) == 0s);
  CHECK(usage_interval(1ns) == 500ms);
  CHECK(usage_interval(3s) == 3s);
  CHECK(usage_interval(Nanoseconds::max()) == 1h);
}

TEST_CASE("usage_streams: whatever is asked, each tick has one reading, and the timer is there") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    StreamWorld world{seed};
    for (int i = 0; i < 200; ++i)
      world.step();
  }
}
