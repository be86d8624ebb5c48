#include "runtime/storage/set_aside.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;

TEST_CASE("set_aside: every part gets another name, and none is written over") {
  const test::TempDir dir;
  const auto path = dir.file("state.db");
  std::set<std::string> names;
  for (int round = 0; round < 3; ++round) {
    for (const auto* part : {"", "-wal", ".mark"})
      std::ofstream{path + part} << round << part;
    const auto name = storage::set_aside(path);
    REQUIRE(name.has_value());
    CHECK(name->starts_with(path + ".corrupt-"));
    CHECK(names.insert(*name).second);
    for (const auto* part : {"", "-wal", ".mark"}) {
      CHECK_FALSE(std::filesystem::exists(path + part));
      std::ifstream file{*name + part};
      std::string content;
      file >> content;
      CHECK(content == std::to_string(round) + part);
    }
  }
}

TEST_CASE("set_aside: what an interrupted one left goes, too") {
  const test::TempDir dir;
  const auto path = dir.file("state.db");
  std::ofstream{path + ".mark"} << "mark";
  REQUIRE(storage::set_aside(path).has_value());
  CHECK_FALSE(std::filesystem::exists(path + ".mark"));
}
