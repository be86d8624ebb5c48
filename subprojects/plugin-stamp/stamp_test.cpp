#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <nomadctl/plugin/test_kit.hpp>

using namespace nomad::plugin;

void describe(Plugin& plugin);

TEST_CASE("a task that starts gets the file, and an event says so") {
  const auto root = std::filesystem::temp_directory_path() / "stamp-test";
  std::filesystem::create_directories(root / "web/local");
  TestAgent agent{describe};
  REQUIRE(agent.configure(R"({"file":"here"})"));

  const auto answer = agent.run_hook(
      "stamp", Phase::PRESTART,
      {.alloc_root = root, .task = "web", .environment = {{"NOMAD_TASK_DIR", "/local"}}});

  REQUIRE(answer);
  CHECK(answer->environment.at("STAMP_FILE") == "/local/here");
  CHECK(std::filesystem::exists(root / "web/local/here"));
  REQUIRE(agent.events().size() == 1);
  CHECK(agent.events()[0].message == "wrote local/here");
  std::filesystem::remove_all(root);
}

TEST_CASE("a task without a directory does not start") {
  TestAgent agent{describe};
  REQUIRE(agent.configure());

  const auto answer = agent.run_hook("stamp", Phase::PRESTART, {.alloc_root = "/nowhere"});

  CHECK(answer.error().what == "can't write /nowhere/task/local/stamp.txt");
}

TEST_CASE("a file name that is a path is refused") {
  TestAgent agent{describe};
  CHECK_FALSE(agent.configure(R"({"file":"../x"})"));
}
