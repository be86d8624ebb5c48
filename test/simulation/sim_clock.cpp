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

int __wrap_clock_gettime(clockid_t id, timespec* time) {
  const auto* clock = nomad::test::in_force;
  if (clock == nullptr || id != CLOCK_BOOTTIME) return __real_clock_gettime(id, time);
  time->tv_sec = clock->boot / 1'000'000'000;
  time->tv_nsec = clock->boot % 1'000'000'000;
  return 0;
}

}  // extern "C"

namespace nomad::test {
using std::chrono::steady_clock;
using std::chrono::system_clock;

// By label: a function of C may not return a class.
system_clock::time_point real_wall() asm("__real__ZNSt6chrono3_V212system_clock3nowEv");
system_clock::time_point sim_wall() asm("__wrap__ZNSt6chrono3_V212system_clock3nowEv");
steady_clock::time_point real_steady() asm("__real__ZNSt6chrono3_V212steady_clock3nowEv");
steady_clock::time_point sim_steady() asm("__wrap__ZNSt6chrono3_V212steady_clock3nowEv");

system_clock::time_point sim_wall() {
  if (in_force == nullptr) return real_wall();
  return system_clock::time_point{std::chrono::nanoseconds{in_force->wall}};
}

steady_clock::time_point sim_steady() {
  if (in_force == nullptr) return real_steady();
  return steady_clock::time_point{std::chrono::nanoseconds{in_force->boot}};
}

}  // namespace nomad::test
