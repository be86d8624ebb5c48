// Reads of the machine that are shared, that hang, and that nobody waits for.
#include "actors/api/agent/host_reader.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace nomad::api {
namespace {

using namespace std::chrono_literals;

using HostAnswer = Result<host::HostData>;

/// A machine whose disks answer when the test says so. Its reader's patience is over at once, and
/// noticed when the test says so.
struct HungMachine {
  struct Shared {
    std::atomic<int> begun{0};
    std::promise<void> answers;
    std::shared_future<void> answered{answers.get_future()};
  };

  std::shared_ptr<Shared> shared = std::make_shared<Shared>();
  std::vector<std::function<void()>> alarms;
  net::TimerQueue timers{[this](net::TimerQueue::Clock::duration, std::function<void()> action) {
    alarms.push_back(std::move(action));
  }};
  HostReader reader{-1ns, [shared = shared] {
                      ++shared->begun;
                      shared->answered.wait();
                      return host::HostData{.os = "answered"};
                    }};

  ~HungMachine() { answer(); }

  std::future<HostAnswer> ask() {
    const auto told = std::make_shared<std::promise<HostAnswer>>();
    reader.read(timers, [told](const HostAnswer& data) { told->set_value(data); });
    return told->get_future();
  }

  void answer() {
    if (!std::exchange(has_answered_, true)) shared->answers.set_value();
  }

private:
  bool has_answered_ = false;
};

bool is_told(const std::future<HostAnswer>& asked) {
  return asked.wait_for(0s) == std::future_status::ready;
}

TEST_CASE("host reader: all who ask meanwhile are told of one read") {
  HungMachine machine;
  auto first = machine.ask();
  auto second = machine.ask();
  CHECK_FALSE(is_told(first));
  machine.answer();
  CHECK(first.get()->os == "answered");
  CHECK(second.get()->os == "answered");
  CHECK(machine.shared->begun == 1);
  CHECK(machine.timers.size() == 0);  // Nothing is left of it.
  CHECK(machine.ask().get()->os == "answered");
  CHECK(machine.shared->begun == 2);
}

TEST_CASE("host reader: a read that hangs is an error, at once for who asks then") {
  HungMachine machine;
  auto first = machine.ask();
  REQUIRE(machine.alarms.size() == 1);
  machine.alarms[0]();
  REQUIRE(is_told(first));
  const Error late{Errc::timeout, "reading the host's data: a disk does not answer"};
  CHECK(first.get().error() == late);
  auto second = machine.ask();
  REQUIRE(is_told(second));
  CHECK(second.get().error() == late);
  CHECK(machine.shared->begun <= 1);  // No thread more.

  machine.answer();
  HostAnswer later = machine.ask().get();
  while (!later)  // Until the thread has seen that its read is over.
    later = machine.ask().get();
  CHECK(later->os == "answered");
}

TEST_CASE("host reader: who stops it waits for no read, and nobody is told") {
  HungMachine machine;
  auto asked = machine.ask();
  machine.reader.stop();
  CHECK_THROWS_AS(static_cast<void>(asked.get()), std::future_error);
  CHECK(machine.ask().get().error()
        == Error{Errc::cancelled, "reading the host's data: it is over"});
}

TEST_CASE("host reader: what reading throws is an error") {
  net::TimerQueue timers{[](net::TimerQueue::Clock::duration, std::function<void()>) {}};
  std::promise<HostAnswer> told;
  HostReader reader{1h, []() -> host::HostData { throw std::bad_alloc{}; }};
  reader.read(timers, [&](const HostAnswer& data) { told.set_value(data); });
  CHECK(told.get_future().get().error() == Error{Errc::internal, "reading the host's data"});
}

}  // namespace
}  // namespace nomad::api
