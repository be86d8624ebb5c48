#include "runtime/plugin/memory_channel.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

#include <poll.h>

#include <doctest/doctest.h>

using namespace nomad;
using plugin::MemoryChannel;

namespace {

/// Behind a length, whose value nobody looks at.
std::string framed(const std::string& text) {
  return "size" + text;
}

std::string next_of(const plugin::Channel& ends) {
  std::size_t bytes = 0;
  const auto* const frame = ends.next(ends.agent, &bytes);
  return frame == nullptr ? "" : std::string{static_cast<const char*>(frame), bytes};
}

bool tell(const plugin::Channel& ends, const std::string& frame) {
  return ends.tell(ends.agent, frame.data(), frame.size());
}

bool is_woken(const plugin::Channel& ends) {
  pollfd wait{ends.wake, POLLIN, 0};
  return ::poll(&wait, 1, 0) == 1;
}

}  // namespace

TEST_CASE("memory channel: frames come in their order, without their length") {
  MemoryChannel channel{[](std::string_view) {}};
  const auto ends = channel.ends();
  CHECK(next_of(ends).empty());
  CHECK(channel.send(framed("one")));
  CHECK(channel.send(framed("two")));
  CHECK(ends.has_news(ends.agent));
  CHECK(next_of(ends) == "one");
  CHECK(next_of(ends) == "two");
  CHECK(next_of(ends).empty());
}

TEST_CASE("memory channel: who waits is woken, once, and who does not wait is not") {
  MemoryChannel channel{[](std::string_view) {}};
  const auto ends = channel.ends();
  channel.send(framed("busy"));
  CHECK_FALSE(is_woken(ends));
  CHECK_FALSE(ends.may_wait(ends.agent));
  next_of(ends);
  REQUIRE(ends.may_wait(ends.agent));
  CHECK_FALSE(is_woken(ends));
  channel.send(framed("news"));
  CHECK(is_woken(ends));
  ends.woke(ends.agent);
  CHECK_FALSE(is_woken(ends));
  channel.send(framed("more"));
  CHECK_FALSE(is_woken(ends));
}

TEST_CASE("memory channel: what is not handled has a bound, and room wakes who waits for it") {
  std::size_t heard = 0;
  MemoryChannel channel{[&heard](std::string_view frame) { heard += frame.size() + 4; }};
  const auto ends = channel.ends();
  const std::string large(MemoryChannel::input_window / 2, 'x');
  CHECK(tell(ends, large));
  CHECK(tell(ends, large));
  CHECK_FALSE(tell(ends, "more"));
  CHECK(heard == 2 * (large.size() + 4));
  REQUIRE(ends.may_wait(ends.agent));
  channel.handled(large.size() + 4);
  CHECK(is_woken(ends));
  ends.woke(ends.agent);
  CHECK(ends.has_news(ends.agent));
  CHECK(tell(ends, "more"));
  CHECK_FALSE(ends.has_news(ends.agent));
}

TEST_CASE("memory channel: what waits for a plugin has a bound") {
  MemoryChannel channel{[](std::string_view) {}};
  const auto ends = channel.ends();
  const auto large = framed(std::string(MemoryChannel::most_output / 4, 'x'));
  CHECK(channel.send(large));
  CHECK(channel.send(large));
  CHECK(channel.send(large));
  CHECK_FALSE(channel.send(large));
  next_of(ends);
  CHECK(channel.send(large));
}

TEST_CASE("memory channel: after the end nothing is said or heard, and who waits is woken") {
  int heard = 0;
  MemoryChannel channel{[&heard](std::string_view) { ++heard; }};
  const auto ends = channel.ends();
  channel.send(framed("lost"));
  next_of(ends);
  REQUIRE(ends.may_wait(ends.agent));
  channel.hang_up();
  CHECK(is_woken(ends));
  CHECK(ends.is_over(ends.agent));
  CHECK(next_of(ends).empty());
  CHECK(tell(ends, "nobody listens"));
  CHECK(heard == 0);
}

TEST_CASE("memory channel: two threads lose nothing, however they meet") {
  constexpr std::uint64_t count = 200'000;
  std::atomic<std::uint64_t> sum{0};
  MemoryChannel channel{[&sum](std::string_view frame) {
    std::uint64_t number = 0;
    std::memcpy(&number, frame.data(), sizeof number);
    sum += number;
  }};
  std::thread plugin{[&channel] {
    const auto ends = channel.ends();
    while (!ends.is_over(ends.agent)) {
      for (auto frame = next_of(ends); !frame.empty(); frame = next_of(ends))
        while (!tell(ends, frame) && !ends.is_over(ends.agent))
          std::this_thread::yield();
      if (!ends.may_wait(ends.agent)) continue;
      pollfd wait{ends.wake, POLLIN, 0};
      ::poll(&wait, 1, 10'000);
      ends.woke(ends.agent);
    }
  }};
  std::uint64_t wanted = 0;
  std::uint64_t handled = 0;
  for (std::uint64_t number = 1; number <= count; ++number) {
    std::string frame(12, '\0');
    std::memcpy(frame.data() + 4, &number, sizeof number);
    REQUIRE(channel.send(std::move(frame)));
    wanted += number;
    if (number % 1000 != 0) continue;
    while (sum != wanted)
      std::this_thread::yield();  // so that it goes to sleep now and then
    channel.handled(12 * (number - handled));
    handled = number;
  }
  CHECK(sum == wanted);
  channel.hang_up();
  plugin.join();
}
