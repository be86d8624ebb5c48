#include "test/simulation/sim_clock.hpp"

#include <chrono>
#include <ctime>

namespace nomad::test {
namespace {

thread_local const SimClock* in_force = nullptr;

}  // namespace

SimClock::SimClock() {
  in_force = this;
}

SimClock::~SimClock() {
  in_force = nullptr;
}

}  // namespace nomad::test

// The linker's names: `__wrap_x` takes the calls of x, `__real_x` is x.
extern "C" {

int __real_clock_gettime(clockid_t id, timespec* time);
int __wrap_clock_gettime(clockid_t id, timespec* time);
std::chrono::system_clock::time_point __real__ZNSt6chrono3_V212system_clock3nowEv();
std::chrono::system_clock::time_point __wrap__ZNSt6chrono3_V212system_clock3nowEv();
std::chrono::steady_clock::time_point __real__ZNSt6chrono3_V212steady_clock3nowEv();
std::chrono::steady_clock::time_point __wrap__ZNSt6chrono3_V212steady_clock3nowEv();

int __wrap_clock_gettime(clockid_t id, timespec* time) {
  const auto* clock = nomad::test::in_force;
  if (clock == nullptr || id != CLOCK_BOOTTIME) return __real_clock_gettime(id, time);
  time->tv_sec = clock->boot / 1'000'000'000;
  time->tv_nsec = clock->boot % 1'000'000'000;
  return 0;
}

std::chrono::system_clock::time_point __wrap__ZNSt6chrono3_V212system_clock3nowEv() {
  const auto* clock = nomad::test::in_force;
  if (clock == nullptr) return __real__ZNSt6chrono3_V212system_clock3nowEv();
  return std::chrono::system_clock::time_point{std::chrono::nanoseconds{clock->wall}};
}

std::chrono::steady_clock::time_point __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
  const auto* clock = nomad::test::in_force;
  if (clock == nullptr) return __real__ZNSt6chrono3_V212steady_clock3nowEv();
  return std::chrono::steady_clock::time_point{std::chrono::nanoseconds{clock->boot}};
}

}  // extern "C"
