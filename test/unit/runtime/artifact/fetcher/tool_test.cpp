// Programs that the fetcher runs: what is said of those that are not there, and of those that hang.
#include "runtime/artifact/fetcher/tool.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::artifact;
using namespace std::chrono_literals;

TEST_CASE("tool: one that is not there is named, and one that hangs is killed") {
  const auto run = [](const char* program, std::vector<std::string> arguments, auto patience) {
    return run_tool({.program = program,
                     .arguments = std::move(arguments),
                     .environment = {"PATH=/usr/bin:/bin"},
                     .deadline = std::chrono::steady_clock::now() + patience})
        .error();
  };

  CHECK(run("nomadctl-nobody", {}, 10s)
        == Error{Errc::not_found, "nomadctl-nobody must be available and on the PATH of the node"});
  CHECK(run("sleep", {"60"}, 50ms)
        == Error{Errc::timeout, "sleep did not end in time and was killed"});
}
