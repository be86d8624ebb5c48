// The disk of an allocation in the directory of the next one.
#include "runtime/disk/disk_move.hpp"

#include "disk_fixture.hpp"

using namespace nomad;
using namespace nomad::disk;
using test::DiskFixture;

TEST_CASE_FIXTURE(DiskFixture,
                  "disk_move: data and the tasks' own directories move, nothing else") {
  const auto from = alloc("old");
  const auto to = alloc("new");
  write(from + "/alloc/data/db", "rows");
  write(from + "/alloc/logs/web.stdout.0", "log");
  write(from + "/web/local/cache", "warm");
  write(from + "/web/secrets/token", "secret");
  REQUIRE(move_disk(from, to, {"web", "unborn"}).has_value());
  CHECK(read(to + "/alloc/data/db") == "rows");
  CHECK(read(to + "/web/local/cache") == "warm");
  CHECK_FALSE(test::fs::exists(to + "/alloc/logs"));
  CHECK_FALSE(test::fs::exists(to + "/web/secrets"));
  CHECK_FALSE(test::fs::exists(to + "/unborn"));
  CHECK_FALSE(test::fs::exists(from + "/alloc/data"));
}

TEST_CASE_FIXTURE(DiskFixture, "disk_move: what was interrupted goes on") {
  const auto from = alloc("old");
  const auto to = alloc("new");
  write(to + "/alloc/data/db", "moved before");
  test::fs::remove_all(from + "/alloc/data");
  write(from + "/web/local/cache", "warm");
  REQUIRE(move_disk(from, to, {"web"}).has_value());
  CHECK(read(to + "/alloc/data/db") == "moved before");
  CHECK(read(to + "/web/local/cache") == "warm");
}

TEST_CASE_FIXTURE(DiskFixture, "disk_move: a link in the place of a directory is not followed") {
  const auto from = alloc("old");
  const auto to = alloc("new");
  write(dir.file("outside/file"), "not theirs");
  test::fs::remove_all(from + "/alloc/data");
  test::fs::create_directory_symlink(dir.file("outside"), from + "/alloc/data");
  CHECK_FALSE(move_disk(from, to, {}).has_value());
  CHECK(read(dir.file("outside/file")) == "not theirs");
}

TEST_CASE_FIXTURE(DiskFixture, "disk_move: an allocation that is gone is an error that names it") {
  const auto moved = move_disk(dir.file("gone"), alloc("new"), {});
  REQUIRE_FALSE(moved.has_value());
  CHECK(moved.error().what.find("gone") != std::string::npos);
}

TEST_CASE_FIXTURE(DiskFixture,
                  "disk_move: a disk is in use once a task's directory has been built") {
  const auto root = alloc("new");
  test::fs::create_directories(root + "/web/local");
  CHECK_FALSE(is_in_use(root, {"web"}));
  test::fs::create_directories(root + "/web/secrets");
  CHECK(is_in_use(root, {"web"}));
  CHECK_FALSE(is_in_use(root, {"other"}));
}
