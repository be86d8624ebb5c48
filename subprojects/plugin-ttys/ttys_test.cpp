#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <nomadctl/plugin/test_kit.hpp>

using namespace nomad::plugin;

void describe(Plugin& plugin);

TEST_CASE("what fits the pattern is found; what is no device is not given out") {
  TestAgent agent{describe};
  REQUIRE(agent.configure(R"({"pattern":"/dev/nul[l]"})"));
  const auto found = agent.find_devices("ttys");
  REQUIRE(found);
  REQUIRE(found->size() == 1);
  REQUIRE(found->at(0).instances.size() == 1);
  CHECK(found->at(0).instances[0].id == "null");
  CHECK(found->at(0).instances[0].healthy);

  REQUIRE(agent.configure(R"({"pattern":"/dev/fd"})"));
  const auto others = agent.find_devices("ttys");
  REQUIRE(others);
  CHECK_FALSE(others->at(0).instances.at(0).healthy);
}

TEST_CASE("a node without ports has no group of them") {
  TestAgent agent{describe};
  REQUIRE(agent.configure(R"({"pattern":"/dev/no-such-port*"})"));
  CHECK(agent.find_devices("ttys").value().empty());
}

TEST_CASE("a task gets its ports and a list of them") {
  TestAgent agent{describe};
  REQUIRE(agent.configure());
  const auto answer = agent.run_hook("ttys", Phase::PRESTART,
                                     {.kind = {.vendor = "port", .type = "serial"},
                                      .devices = {{"port", {"ttyUSB0", "ttyUSB1"}}}});

  REQUIRE(answer);
  CHECK(answer->environment.at("SERIAL_PORTS") == "/dev/ttyUSB0 /dev/ttyUSB1");
  REQUIRE(answer->devices.size() == 2);
  CHECK(answer->devices[1].task_path == "/dev/ttyUSB1");
}

TEST_CASE("a pattern elsewhere is refused") {
  TestAgent agent{describe};
  CHECK_FALSE(agent.configure(R"({"pattern":"/etc/*"})"));
}
