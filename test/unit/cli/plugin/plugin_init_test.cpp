#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "cli/plugin/samples.hpp"
#include "cli/run.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/cli/capture.hpp"

using namespace nomad;

namespace {

std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

/// The working directory of a test.
struct Inside {
  explicit Inside(const std::string& path) : before{std::filesystem::current_path()} {
    std::filesystem::current_path(path);
  }

  ~Inside() { std::filesystem::current_path(before); }

  std::filesystem::path before;
};

}  // namespace

TEST_CASE("plugin init: a sample under the new name, in its files and their names") {
  const test::TempDir dir;
  const Inside inside{dir.path()};
  const test::Capture printed;

  CHECK(cli::run_plugin_init({"task-hook", "my-hook"}).value() == 0);

  CHECK(content("my-hook/meson.build").find("shared_module('my-hook', 'my-hook.cpp'")
        != std::string::npos);
  const auto source = content("my-hook/my-hook.cpp");
  CHECK(source.find("plugin.is(\"my-hook\", \"1.0.0\")") != std::string::npos);
  CHECK(source.find("stamp.") == std::string::npos);
  CHECK(std::filesystem::exists("my-hook/my-hook_test.cpp"));
  CHECK(printed.out().find("meson setup build") != std::string::npos);
}

TEST_CASE("plugin init: what is there is left alone, and names and kinds are judged") {
  const test::TempDir dir;
  const Inside inside{dir.path()};
  const test::Capture printed;
  std::filesystem::create_directory("taken");
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"task-hook", "taken"}, {"task-hook", "../x"}, {"task-hook", "Big"}, {"cake", "x"}}) {
    const auto outcome = cli::run_plugin_init(arguments);
    CHECK((!outcome || *outcome == 1));
  }
  CHECK(std::filesystem::is_empty("taken"));
}

TEST_CASE("plugin init: where nothing can be made, that is said") {
  const test::TempDir dir;
  std::filesystem::create_directory(dir.file("gone"));
  const Inside inside{dir.file("gone")};
  std::filesystem::remove(dir.file("gone"));
  const test::Capture printed;
  CHECK(cli::run_plugin_init({"driver", "x"}).error().what
        == "Failed to make \"x\": No such file or directory");
}

TEST_CASE("plugin init: every kind has a source, a test and a build file") {
  CHECK(cli::plugin_samples().size() == 8 * 3 + 1);
}

TEST_CASE("plugin init: one in Python is a program under the new name") {
  const test::TempDir dir;
  const Inside inside{dir.path()};
  const test::Capture printed;

  CHECK(cli::run_plugin_init({"python-actor", "jobs"}).value() == 0);

  const auto program = content("jobs/jobs.py");
  CHECK(program.find("\"name\": \"jobs\"") != std::string::npos);
  CHECK(program.find("\"actors\": [\"jobs\"]") != std::string::npos);
  CHECK((std::filesystem::status("jobs/jobs.py").permissions() & std::filesystem::perms::owner_exec)
        == std::filesystem::perms::owner_exec);
  CHECK(printed.out().find("plugin validate -run jobs/jobs.py") != std::string::npos);
}
