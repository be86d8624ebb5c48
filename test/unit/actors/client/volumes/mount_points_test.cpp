#include "actors/client/volumes/mount_points.hpp"

#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::client;

TEST_CASE("mount_points: what is not mounted is none, and its directory goes") {
  const test::TempDir dir;
  const auto path = dir.file("per-alloc/a/v/rw");
  REQUIRE(make_directory(path).has_value());

  CHECK_FALSE(is_mount_point(path));
  CHECK_FALSE(is_mount_point(dir.file("nothing")));
  CHECK(is_mount_point("/proc"));
  CHECK(clear_mount_point(path).has_value());
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(clear_mount_point(path).has_value());
}

TEST_CASE("mount_points: what a plugin has left in a directory stays") {
  const test::TempDir dir;
  const auto path = dir.file("left");
  REQUIRE(make_directory(path).has_value());
  std::ofstream{path + "/file"} << "x";

  CHECK(clear_mount_point(path).has_value());
  CHECK(std::filesystem::exists(path + "/file"));
}

TEST_CASE("mount_points: directories are the agent's alone") {
  const test::TempDir dir;
  REQUIRE(make_directory(dir.file("a/b")).has_value());

  CHECK(
      (std::filesystem::status(dir.file("a/b")).permissions() & std::filesystem::perms::others_all)
      == std::filesystem::perms::none);
  std::ofstream{dir.file("file")} << "x";
  CHECK(make_directory(dir.file("file/below")).error().code == Errc::io);
}

TEST_CASE("mount_points: nothing is unmounted where nothing is mounted") {
  const test::TempDir dir;
  CHECK(clear_unknown(dir.path(), {}).empty());
}
