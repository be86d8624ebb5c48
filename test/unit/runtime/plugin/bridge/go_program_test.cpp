#include "runtime/plugin/bridge/go_program.hpp"

#include <chrono>

#include <sys/resource.h>

#include <doctest/doctest.h>

using namespace nomad;
using namespace std::chrono_literals;
using plugin::bridge::GoProgram;

namespace {

std::chrono::microseconds used() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

}  // namespace

TEST_CASE("go program: one that closes what it may write to and says nothing is slept for") {
  for (const auto* const closes : {"exec 2>&-", "exec >&-", "exec >&- 2>&-"}) {
    CAPTURE(closes);
    const auto before = used();
    const auto started
        = GoProgram::start({"/bin/sh", "-c", std::string{closes} + "; exec sleep 30"}, 1s);
    REQUIRE_FALSE(started);
    CHECK(started.error().what == "it has printed no handshake within 1 s");
    CHECK(used() - before < 300ms);
  }
}

TEST_CASE("go program: what it wrote before its end is why it is none") {
  const auto started = GoProgram::start({"/bin/sh", "-c", "echo 'no bed here' >&2; exit 3"}, 10s);
  REQUIRE_FALSE(started);
  CHECK(started.error().what
        == "it is no plugin of Nomad's, or can't run here: it exited with status 3 before it "
           "printed a handshake: no bed here");
}

TEST_CASE("go program: one that prints something else is told so before it has filled the memory") {
  const auto started = GoProgram::start({"/bin/sh", "-c", "exec head -c 1000000 /dev/zero"}, 10s);
  REQUIRE_FALSE(started);
  CHECK(started.error().what
        == "it is no plugin of Nomad's: it prints something else than a handshake");
}
