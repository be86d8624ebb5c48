// An archive of a disk, there and back.
#include "runtime/disk/disk_snapshot.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "disk_fixture.hpp"

using namespace nomad;
using test::DiskFixture;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat status {};

  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

TEST_CASE_FIXTURE(DiskFixture, "disk_snapshot: files, links and directories arrive as they are") {
  const auto root = alloc("old");
  const std::string large(700'000, 'x');
  write(root + "/alloc/data/deep/er/file", "content");
  write(root + "/alloc/data/" + std::string(200, 'n'), "a long name");
  write(root + "/alloc/data/\xc3\xa4\xff", "a name of bytes");
  write(root + "/web/local/large", large);
  write(root + "/web/local/empty", "");
  write(root + "/web/secrets/token", "secret");
  test::fs::create_symlink("../elsewhere", root + "/alloc/data/link");
  ::chmod((root + "/web/local/empty").c_str(), 04640);
  ::chmod((root + "/alloc/data/deep").c_str(), 0500);

  const auto to = dir.file("new");
  REQUIRE(unpack(archive_of(root, {"web", "unborn"}), to).has_value());
  CHECK(read(to + "/alloc/data/deep/er/file") == "content");
  CHECK(read(to + "/alloc/data/" + std::string(200, 'n')) == "a long name");
  CHECK(read(to + "/alloc/data/\xc3\xa4\xff") == "a name of bytes");
  CHECK(read(to + "/web/local/large") == large);
  CHECK(test::fs::read_symlink(to + "/alloc/data/link") == "../elsewhere");
  CHECK(mode_of(to + "/web/local/empty") == 0640);  // Who it runs as is nobody's to bring along.
  CHECK(mode_of(to + "/alloc/data/deep") == 0500);
  CHECK_FALSE(test::fs::exists(to + "/web/secrets"));
  CHECK_FALSE(test::fs::exists(to + "/unborn"));
  ::chmod((root + "/alloc/data/deep").c_str(), 0700);
  ::chmod((to + "/alloc/data/deep").c_str(), 0700);
}

TEST_CASE_FIXTURE(DiskFixture, "disk_snapshot: pipes and sockets are left out") {
  const auto root = alloc("old");
  REQUIRE(::mkfifo((root + "/alloc/data/pipe").c_str(), 0600) == 0);
  write(root + "/alloc/data/file", "content");
  const auto to = dir.file("new");
  REQUIRE(unpack(archive_of(root, {}), to).has_value());
  CHECK_FALSE(test::fs::exists(to + "/alloc/data/pipe"));
  CHECK(read(to + "/alloc/data/file") == "content");
}

TEST_CASE_FIXTURE(DiskFixture,
                  "disk_snapshot: a sender that fails says so, and nobody believes it") {
  const auto root = alloc("old");
  write(root + "/alloc/data/file", "content");
  test::fs::create_directories(dir.file("outside"));
  test::fs::create_directory_symlink(dir.file("outside"), root + "/web");
  const auto done = unpack(archive_of(root, {"web"}), dir.file("new"));
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error()
        == Error{Errc::unavailable,
                 "the node that has it failed to send it: opening web: Not a directory"});
}

TEST_CASE_FIXTURE(DiskFixture, "disk_snapshot: what is too deep, or has become shorter, is named") {
  const auto root = alloc("old");
  write(root + "/alloc/data/file", std::string(1'000'000, 'x'));
  auto snapshot = disk::DiskSnapshot::open(root, "id", {});
  REQUIRE(snapshot.has_value());
  std::string all;
  for (;;) {
    const auto piece = snapshot->next();
    REQUIRE(piece.has_value());
    if (piece->empty()) break;
    all += *piece;
    test::fs::resize_file(root + "/alloc/data/file", 10);
  }
  CHECK(unpack(all, dir.file("new")).error().what
        == "the node that has it failed to send it: alloc/data/file has become shorter");

  std::string path = "alloc/data";
  for (int level = 2; level < 513; ++level)
    path += "/d";
  const auto deep = alloc("deep");
  test::fs::create_directories(deep + "/" + path + "/d");
  CHECK(unpack(archive_of(deep, {}), dir.file("another")).error().what
        == "the node that has it failed to send it: " + path + "/d is deeper than 512 levels");
}

TEST_CASE_FIXTURE(DiskFixture, "disk_snapshot: there is none of an allocation that is gone") {
  CHECK(disk::DiskSnapshot::open(dir.file("gone"), "id", {}).error().code == Errc::not_found);
  CHECK_FALSE(disk::DiskSnapshot::open(alloc("old"), "id", {".."}).has_value());
}
