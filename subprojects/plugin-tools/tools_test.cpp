#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <nomadctl/plugin/test_kit.hpp>

using namespace nomad::plugin;

void describe(Plugin& plugin);

TEST_CASE("a program that is there is an attribute, and so is one that is not") {
  TestAgent agent{describe};
  REQUIRE(agent.configure(R"({"programs":["sh","no-such-program"]})"));

  const auto facts = agent.gather_facts("tools");

  REQUIRE(facts);
  CHECK(facts->at("tools.sh") == "true");
  CHECK(facts->at("tools.no-such-program") == "false");
}

TEST_CASE("a path is refused") {
  TestAgent agent{describe};
  CHECK_FALSE(agent.configure(R"({"programs":["/bin/sh"]})"));
}
