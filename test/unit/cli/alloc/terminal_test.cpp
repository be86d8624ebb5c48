// Signals while they are caught, and before and after.
#include "cli/alloc/terminal.hpp"

#include <csignal>

#include <poll.h>

#include <doctest/doctest.h>

using nomad::cli::CaughtSignals;

namespace {

bool is_readable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

/// A signal counts while it lives, instead of ending the process.
class CountedSignal {
public:
  explicit CountedSignal(int number) : number_{number} {
    came = 0;

    struct sigaction counts {};

    counts.sa_handler = [](int) { came = came + 1; };
    ::sigaction(number, &counts, &before_);
  }

  CountedSignal(const CountedSignal&) = delete;

  ~CountedSignal() { ::sigaction(number_, &before_, nullptr); }

  static inline volatile std::sig_atomic_t came = 0;

private:
  int number_;

  struct sigaction before_ {};
};

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
  for (const int number : {SIGTERM, SIGPIPE}) {
    CAPTURE(number);
    const CountedSignal counted{number};
    {
      const auto signals = CaughtSignals::make();
      ::raise(number);
    }
    CHECK(CountedSignal::came == 0);
    ::raise(number);
    CHECK(CountedSignal::came == 1);
  }
}

TEST_CASE("caught signals: what was ignored before is so again") {
  for (const int number : {SIGHUP, SIGPIPE}) {
    CAPTURE(number);
    const CountedSignal restores{number};
    std::signal(number, SIG_IGN);
    { const auto signals = CaughtSignals::make(); }

    struct sigaction now {};

    ::sigaction(number, nullptr, &now);
    CHECK((now.sa_handler == SIG_IGN));
    ::raise(number);
    CHECK(CountedSignal::came == 0);
  }
}
