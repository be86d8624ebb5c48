// Namespaces of the real kernel.
#include "runtime/network/namespaces.hpp"

#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/host/process/run_program.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::network;

TEST_CASE("namespaces: they stay until they are removed" * doctest::skip(::geteuid() != 0)) {
  const test::TempDir dir;
  const Namespaces namespaces{dir.file("netns")};
  CHECK_FALSE(namespaces.exists("a"));
  const auto made = namespaces.make("a");
  if (!made && made.error().code == Errc::permission_denied) {
    MESSAGE("skipped: this machine forbids network namespaces");
    return;
  }
  REQUIRE(made);
  CHECK(namespaces.exists("a"));
  CHECK(namespaces.make("a").error()
        == Error{Errc::conflict,
                 "there is a network namespace at " + namespaces.path("a") + " already"});
  const auto inside
      = host::run_program({.program = "/usr/bin/nsenter",
                           .arguments = {"--net=" + namespaces.path("a"), "cat", "/proc/net/dev"},
                           .environment = {"PATH=/usr/bin:/bin"}});
  REQUIRE(inside);
  CHECK(inside->output.find("lo:") != std::string::npos);
  CHECK(inside->output.find("eth0:") == std::string::npos);
  CHECK(namespaces.remove("a"));
  CHECK_FALSE(namespaces.exists("a"));
  CHECK(namespaces.remove("a"));
  CHECK(host::run_program({.program = "/usr/bin/umount",
                           .arguments = {"-R", dir.file("netns")},
                           .environment = {"PATH=/usr/bin:/bin"}}));
}
