#include "runtime/host/directory_walk.hpp"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;

namespace {

DirectoryUsage walk(const std::string& root, std::uint64_t at_once = 1'000'000) {
  DirectoryWalk walk{root};
  for (int rounds = 0; rounds < 1'000'000; ++rounds) {
    const auto over = walk.advance(at_once);
    REQUIRE(over.has_value());
    if (*over) return walk.usage();
  }
  FAIL("the walk does not end");
  return {};
}

/// Of the blocks of one file or directory.
std::uint64_t blocks(const std::string& path) {
  struct stat status {};

  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

}  // namespace

TEST_CASE("directory_walk: counts blocks, and a file with two names once") {
  TempDir directory;
  std::filesystem::create_directories(directory / "alloc/logs");
  write_text(directory / "alloc/logs/out", std::string(300'000, 'x'));
  REQUIRE(::link((directory / "alloc/logs/out").c_str(), (directory / "alloc/again").c_str()) == 0);
  write_text(directory / "sparse", "");
  REQUIRE(::truncate((directory / "sparse").c_str(), 1L << 30) == 0);

  const auto usage = walk(directory.path());

  CHECK(usage.complete);
  CHECK(usage.entries == 5);
  CHECK(usage.bytes
        == blocks(directory.path()) + blocks(directory / "alloc") + blocks(directory / "alloc/logs")
               + blocks(directory / "alloc/logs/out") + blocks(directory / "sparse"));
  CHECK(usage.bytes >= 300'000);
  CHECK(usage.bytes < 1'000'000);
  for (const std::uint64_t at_once : {1, 2, 3, 7})
    CHECK(walk(directory.path(), at_once) == usage);
}

TEST_CASE("directory_walk: neither links nor other file systems nor what is no directory") {
  TempDir directory, elsewhere;
  write_text(elsewhere / "big", std::string(1'000'000, 'x'));
  std::filesystem::create_directory(directory / "task");
  std::filesystem::create_directory_symlink(elsewhere.path(), directory / "link");
  std::filesystem::create_directory_symlink("..", directory / "task/up");
  REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_directory(directory / "secrets");
  const bool mounted
      = ::mount("tmpfs", (directory / "secrets").c_str(), "tmpfs", 0, "size=2m") == 0;
  if (mounted) write_text(directory / "secrets/key", std::string(1'000'000, 'x'));

  const auto usage = walk(directory.path());

  if (mounted) ::umount2((directory / "secrets").c_str(), MNT_DETACH);
  CHECK(usage.complete);
  CHECK(usage.entries == 5);
  CHECK(usage.bytes < 100'000);
}

TEST_CASE("directory_walk: a tree without end has one") {
  TempDir directory;
  std::string path = directory.path();
  for (int depth = 0; depth < 3000; ++depth) {  // deeper than a path may be long
    std::error_code failure;
    path += "/d";
    if (!std::filesystem::create_directory(path, failure)) break;
  }
  for (int i = 0; i < 100; ++i)
    write_text(directory / ("file-" + std::to_string(i)), "x");

  CHECK(walk(directory.path(), 10).entries > 1000);

  DirectoryWalk few{directory.path(), 50};
  const auto over = few.advance(1'000'000);
  REQUIRE(over.has_value());
  CHECK(*over);
  CHECK(few.usage().entries == 50);
  CHECK_FALSE(few.usage().complete);
}

TEST_CASE("directory_walk: what goes meanwhile is passed over") {
  TempDir directory;
  for (int i = 0; i < 20; ++i)
    std::filesystem::create_directories(directory / ("d" + std::to_string(i) + "/e"));
  DirectoryWalk walk{directory.path()};
  REQUIRE_FALSE(*walk.advance(25));
  for (int i = 0; i < 20; ++i)
    std::filesystem::remove_all(directory / ("d" + std::to_string(i)));
  const auto over = walk.advance(1000);
  REQUIRE(over.has_value());
  CHECK(*over);
  CHECK(walk.usage().complete);

  DirectoryWalk gone{directory / "d1"};
  CHECK(gone.advance(10).error().code == Errc::not_found);
}

TEST_CASE("directory_walk: folders that are not there") {
  TempDir directory;
  std::filesystem::create_directory(directory / "alloc");
  write_text(directory / "file", "");
  std::filesystem::create_directory_symlink("alloc", directory / "link");
  const std::vector<std::string> names{"alloc", "web", "file", "link"};

  CHECK(missing_folders(directory.path(), names)
        == std::vector<std::string>{"web", "file", "link"});
  CHECK(missing_folders(directory / "absent", names) == names);
}
