#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <nomadctl/plugin/test_kit.hpp>

using namespace nomad::plugin;

void describe(Plugin& plugin);

namespace {

/// An empty file of this test's, by its path.
std::string empty_file() {
  const auto path = std::filesystem::temp_directory_path() / "ledger-test.txt";
  std::ofstream{path};
  return path;
}

/// What stands in it, without the times.
std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);)
    lines.push_back(line.substr(line.find("  ") + 2));
  return lines;
}

const TestTask whole_alloc{.alloc_id = "a-1", .job = "web", .group = "front", .task = ""};

}  // namespace

TEST_CASE("an allocation that begins and ends is two lines and two events") {
  const auto path = empty_file();
  TestAgent agent{describe};
  REQUIRE(agent.configure(R"({"file":")" + path + "\"}"));

  REQUIRE(agent.run_hook("ledger", Phase::PRERUN, whole_alloc));
  REQUIRE(agent.run_hook("ledger", Phase::POSTRUN, whole_alloc));

  CHECK(lines_of(path)
        == std::vector<std::string>{"begin  a-1  default/web  front",
                                    "end  a-1  default/web  front"});
  REQUIRE(agent.events().size() == 2);
  CHECK(agent.events()[0].message == "wrote its begin");
  std::filesystem::remove(path);
}

TEST_CASE("another process of the plugin writes no begin again") {
  const auto path = empty_file();
  for (int process = 0; process < 2; ++process) {
    TestAgent agent{describe};
    REQUIRE(agent.configure(R"({"file":")" + path + "\"}"));
    REQUIRE(agent.run_hook("ledger", Phase::PRERUN, whole_alloc));
  }
  CHECK(lines_of(path).size() == 1);
  std::filesystem::remove(path);
}

TEST_CASE("without a place to write, nothing begins") {
  TestAgent agent{describe};
  REQUIRE(agent.configure(R"({"file":"/nowhere/ledger"})"));
  CHECK(agent.run_hook("ledger", Phase::PRERUN, whole_alloc).error().what
        == "can't write /nowhere/ledger");
  CHECK_FALSE(agent.configure(R"({"file":"here"})"));
}
