#include "runtime/storage/directory.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::storage;

namespace fs = std::filesystem;

TEST_CASE("directories are made with their parents and exactly their modes; what is there stays") {
  const test::TempDir dir;
  const auto mode = [&](const std::string& name) {
    return static_cast<unsigned>(fs::status(dir.path() + name).permissions() & fs::perms::all);
  };
  REQUIRE(make_directory(dir.path() + "/there", 0750));
  REQUIRE(make_directories(
      {{dir.path() + "/one/two"}, {dir.path() + "/open", passable_mode}, {dir.path() + "/there"}}));
  CHECK(mode("/one") == private_mode);
  CHECK(mode("/one/two") == private_mode);
  CHECK(mode("/open") == passable_mode);
  CHECK(mode("/there") == 0750);
  REQUIRE(make_private_directory(dir.path() + "/there"));
  CHECK(mode("/there") == private_mode);
}

TEST_CASE("a file in a directory's place is an error that names it") {
  const test::TempDir dir;
  std::ofstream{dir.path() + "/file"} << "x";
  const auto made = make_directories({{dir.path() + "/first"}, {dir.path() + "/file/inside"}});
  REQUIRE_FALSE(made);
  CHECK(made.error().what == "\"" + dir.path() + "/file\" is not a directory");
}
