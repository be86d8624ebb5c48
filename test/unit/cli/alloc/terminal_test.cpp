// Signals while they are caught, and before and after.
#include "cli/alloc/terminal.hpp"

#include <csignal>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

using nomad::cli::CaughtSignals;

namespace {

bool is_readable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

/// How a child ends that runs `body`: its exit status, or 128 and the signal that killed it.
template <class Body>
int outcome_of(Body body) {
  const auto child = ::fork();
  if (child == 0) {
    for (const int number : {SIGTERM, SIGHUP, SIGPIPE})
      std::signal(number, SIG_DFL);  // doctest reports the first as a crash
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("caught signals: they are read, not carried out") {
  auto signals = CaughtSignals::make();
  REQUIRE(signals);
  CHECK_FALSE(is_readable(signals->descriptor()));
  ::raise(SIGINT);
  ::raise(SIGWINCH);
  ::raise(SIGPIPE);
  CHECK(is_readable(signals->descriptor()));
  CHECK(signals->take() == std::vector<int>{SIGINT, SIGWINCH});
  CHECK(signals->take().empty());
}

TEST_CASE("caught signals: afterwards they do what they did, and what came before is forgotten") {
  CHECK(outcome_of([] {
          auto signals = CaughtSignals::make();
          ::raise(SIGTERM);
        })
        == 0);
  CHECK(outcome_of([] {
          { auto signals = CaughtSignals::make(); }
          ::raise(SIGTERM);
        })
        == 128 + SIGTERM);
  CHECK(outcome_of([] {
          { auto signals = CaughtSignals::make(); }
          ::raise(SIGPIPE);
        })
        == 128 + SIGPIPE);
}

TEST_CASE("caught signals: what was ignored before is so again") {
  CHECK(outcome_of([] {
          std::signal(SIGHUP, SIG_IGN);
          { auto signals = CaughtSignals::make(); }
          ::raise(SIGHUP);
        })
        == 0);
}
