// What Ctrl-C does to commands that go on until somebody ends them.
#include "cli/interrupts.hpp"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

using namespace nomad::cli;
using namespace std::chrono_literals;

namespace {

/// How a child ended in which `act` was called: its exit code, or the signal below 0.
template <class Act>
int end_of_child(const Act& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int signal : {SIGINT, SIGTERM})
      ::signal(signal, SIG_DFL);  // not what the program of tests does
    act();
    ::_exit(7);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("interrupts: who has seen enough of a log ends well") {
  for (const int signal : {SIGINT, SIGTERM}) {
    CHECK(end_of_child([signal] {
            const EndsWell whenever;
            ::raise(signal);
          })
          == 0);
    CHECK(end_of_child([signal] {
            { const EndsWell whenever; }
            ::raise(signal);
          })
          == -signal);
  }
}

TEST_CASE("interrupts: the first is noted, the second ends the program") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const NotedInterrupt noted;
    CHECK_FALSE(NotedInterrupt::came());
    ::raise(signal);
    CHECK(NotedInterrupt::came());
    sleep_until_interrupt(std::chrono::steady_clock::now() + 1h);  // returns at once
    CHECK(end_of_child([signal] { ::raise(signal); }) == -signal);
    NotedInterrupt::go_on();
    CHECK_FALSE(NotedInterrupt::came());
    ::raise(signal);
    CHECK(NotedInterrupt::came());
  }
}
