// How much a namespace may hold.
#include "actors/api/jobs/namespace_use.hpp"

#include <doctest/doctest.h>

#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;
using namespace std::chrono_literals;

TEST_CASE("namespace_use: jobs are counted once, then added up, and counted again when full") {
  ApiFixture fixture;
  const auto add = [&fixture](const char* id) {
    fixture.state().run([id](schema::Command::Builder command) {
      auto job = command.initJobRegister().initJob();
      job.setNamespace("default");
      job.setId(id);
    });
  };
  add("a");
  const auto one = fixture.state().now().job("default", "a").size_in_bytes();
  const auto begin = NamespaceUse::Clock::now();
  NamespaceUse use;
  const auto admit = [&](std::uint64_t bytes, std::uint64_t most, std::chrono::milliseconds later) {
    return use.admit(fixture.state().now(), "default", bytes, most, begin + later);
  };
  CHECK(admit(100, one + 200, 0ms));
  CHECK(admit(100, one + 200, 0ms));
  const auto refused = admit(1, one + 200, 10ms);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_argument);
  CHECK(refused.error().what.starts_with("namespace \"default\" has "));
  CHECK(refused.error().what.find("limits.namespace_jobs_max_mb") != std::string::npos);
  // What was admitted and never came is forgotten.
  CHECK(admit(200, one + 200, 2s));
  CHECK_FALSE(admit(1, one + 200, 2s));
  CHECK(admit(1'000'000, 0, 2s));
  CHECK(use.admit(fixture.state().now(), "other", 150, one + 200, begin));
}
