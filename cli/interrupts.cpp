#include "cli/interrupts.hpp"

#include <algorithm>
#include <thread>

#include <unistd.h>

namespace nomad::cli {
namespace {

using namespace std::chrono_literals;

/// How soon an interrupt is seen by who waits.
constexpr auto glance = 100ms;

volatile std::sig_atomic_t noted_interrupt = 0;

void note_interrupt(int) {
  noted_interrupt = 1;
}

/// The second ends the program. Reads that wait go on: whoever reads looks from time to time.
constexpr int once = static_cast<int>(SA_RESETHAND | SA_RESTART);

/// Sets the same for both signals, and keeps what was set.
void take_over(void (*handler)(int),
               int flags,
               struct sigaction& interrupt,
               struct sigaction& terminate) {
  struct sigaction action {};

  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(SIGINT, &action, &interrupt);
  ::sigaction(SIGTERM, &action, &terminate);
}

}  // namespace

EndsWell::EndsWell() {
  take_over([](int) { ::_exit(0); }, 0, interrupt_, terminate_);
}

EndsWell::~EndsWell() {
  ::sigaction(SIGINT, &interrupt_, nullptr);
  ::sigaction(SIGTERM, &terminate_, nullptr);
}

NotedInterrupt::NotedInterrupt() {
  noted_interrupt = 0;
  take_over(note_interrupt, once, interrupt_, terminate_);
}

NotedInterrupt::~NotedInterrupt() {
  ::sigaction(SIGINT, &interrupt_, nullptr);
  ::sigaction(SIGTERM, &terminate_, nullptr);
}

void NotedInterrupt::go_on() {
  struct sigaction ignored {};

  noted_interrupt = 0;
  take_over(note_interrupt, once, ignored, ignored);
}

bool NotedInterrupt::came() {
  return noted_interrupt != 0;
}

void sleep_until_interrupt(std::chrono::steady_clock::time_point end) {
  while (!NotedInterrupt::came()) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= 0ns) return;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, glance));
  }
}

}  // namespace nomad::cli
