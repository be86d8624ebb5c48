#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <nomadctl/plugin/test_kit.hpp>

using namespace nomad::plugin;
using namespace std::chrono_literals;

void describe(Plugin& plugin);

namespace {

const auto path = std::filesystem::temp_directory_path() / "filesd_test.json";

std::string content() {
  std::ifstream file{path};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool has(const std::string& part) {
  return content().find(part) != std::string::npos;
}

Service web(const char* id, int port) {
  return {.id = id, .name = "web", .address = "10.0.0.1", .port = port, .alloc_id = "a1"};
}

}  // namespace

TEST_CASE("services stand in the file until they are deregistered, and checks are a label") {
  TestAgent agent{describe};
  REQUIRE(agent.configure(R"({"file":")" + path.string() + "\"}"));

  CHECK_FALSE(agent.register_services("filesd", {web("1", 80), web("2", 81)}));  // not yet
  REQUIRE(agent.advance(1s));
  REQUIRE(agent.take_done());
  CHECK(has(R"("targets":["10.0.0.1:80"])"));
  CHECK(has(R"("targets":["10.0.0.1:81"])"));
  CHECK(has(R"("health":"unchecked")"));

  REQUIRE(agent.change_checks("filesd", "a1",
                              {{.service = "web", .status = ServiceCheck::Status::passing},
                               {.service = "web", .status = ServiceCheck::Status::failing}}));
  REQUIRE(agent.advance(1s));
  CHECK(has(R"("health":"failing")"));

  CHECK_FALSE(agent.deregister_services("filesd", {"1", "no such one"}));
  REQUIRE(agent.advance(1s));
  REQUIRE(agent.take_done());
  CHECK_FALSE(has("10.0.0.1:80"));
  CHECK(has("10.0.0.1:81"));
  std::filesystem::remove(path);
}

TEST_CASE("a file that can't be written is told, and what was asked fails") {
  TestAgent agent{describe};
  CHECK_FALSE(agent.configure(R"({"file":"relative"})"));
  REQUIRE(agent.configure(R"({"file":"/nowhere/at/all"})"));

  CHECK_FALSE(agent.register_services("filesd", {web("1", 80)}));
  REQUIRE(agent.advance(1s));

  CHECK(agent.take_done().error().what == "can't write /nowhere/at/all");
}
