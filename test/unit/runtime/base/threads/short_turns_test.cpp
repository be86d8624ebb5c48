#include "runtime/base/threads/short_turns.hpp"

#include <array>
#include <cstdint>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

#include <doctest/doctest.h>

namespace {

/// What the kernel calls the thread's slice, in nanoseconds; 0: the usual.
std::uint64_t slice_of_this_thread() {
  std::array<std::uint64_t, 6> scheduling{};
  CHECK(::syscall(SYS_sched_getattr, 0, scheduling.data(), sizeof scheduling, 0) == 0);
  return scheduling[3];
}

}  // namespace

TEST_CASE("short turns: for the thread that asks, not for those that it starts") {
  std::uint64_t before = 0, asked = 0, child = 0;
  std::thread{[&] {
    before = slice_of_this_thread();
    nomad::ask_for_short_turns();
    asked = slice_of_this_thread();
    std::thread{[&] { child = slice_of_this_thread(); }}.join();
  }}.join();
  const bool is_known = asked != before;  // not before Linux 6.12, nor in some sandboxes
  CHECK(asked == (is_known ? 100'000 : before));
  CHECK(child == before);
}
