#include "runtime/host/executor/log_writer.hpp"

#include <algorithm>
#include <random>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <doctest/doctest.h>

#include "../temp_dir.hpp"

using namespace nomad::host;
using namespace nomad::host::executor;

namespace {

LogWriter make_writer(const std::string& directory,
                      std::uint32_t max_files,
                      std::uint64_t max_file_bytes) {
  UniqueFd opened{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  return LogWriter{std::move(opened), {"web.stdout", max_files, max_file_bytes}};
}

std::vector<std::string> files(const TempDir& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{directory.path()})
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("log_writer: cuts at line ends, and splits only what fits no file") {
  struct Case {
    std::string data;
    std::uint64_t space;
    std::size_t expected;
  };

  for (const Case& each : {Case{"ab\ncd\n", 100, 6},    // all fits
                           Case{"ab\ncd\n", 6, 6},      // just
                           Case{"ab\ncd\n", 5, 3},      // only the first line
                           Case{"abcdef\n", 5, 0},      // the line fits the next file
                           Case{"abcdefgh", 5, 0},      // so does this, unfinished
                           Case{"abcdefghij\n", 5, 5},  // 11 bytes fit no file of 10
                           Case{"x", 0, 0}})
    CHECK(bytes_for_file(each.data, each.space, 10) == each.expected);
}

TEST_CASE("log_writer: rotates by size, keeps the newest, and goes on after a restart") {
  TempDir directory;
  {
    LogWriter writer = make_writer(directory.path(), 2, 10);
    REQUIRE(writer.open() == 0);
    for (const char* line : {"aaaaaa\n", "bbbbbb\n", "cccccc\n"})
      CHECK(writer.write(line) == 0);
    CHECK(files(directory) == std::vector<std::string>{"web.stdout.1", "web.stdout.2"});
  }
  LogWriter writer = make_writer(directory.path(), 2, 10);
  REQUIRE(writer.open() == 0);
  CHECK(writer.index() == 2);
  CHECK(writer.write("dd\n") == 0);
  CHECK(writer.write("ee\n") == 0);

  CHECK(read_text(directory / "web.stdout.2") == "cccccc\ndd\n");
  CHECK(read_text(directory / "web.stdout.3") == "ee\n");
}

TEST_CASE("log_writer: loses and splits nothing, whatever the pieces") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    TempDir directory;
    LogWriter writer = make_writer(directory.path(), 100000, 50);
    REQUIRE(writer.open() == 0);
    std::string all;
    for (int line = 0; line < 200; ++line)
      all += std::string(random() % 40, 'a' + line % 26) + '\n';
    for (std::size_t at = 0; at < all.size();) {
      // Whole lines, as a task that flushes lines writes them.
      std::size_t end = std::min(all.size(), at + random() % 200);
      end = all.find('\n', end == 0 ? 0 : end - 1) + 1;
      REQUIRE(writer.write(std::string_view{all}.substr(at, end - at)) == 0);
      at = end;
    }

    std::string read;
    for (std::uint64_t index = 0; index <= writer.index(); ++index) {
      std::string part = read_text(directory / "web.stdout." + std::to_string(index));
      CHECK(part.size() <= 50);
      CHECK(part.back() == '\n');
      read += part;
    }
    CHECK(read == all);
  }
}

TEST_CASE("log_writer: writes neither through links nor into pipes nor over shared files") {
  TempDir directory, outside;
  write_text(outside / "victim", "precious");
  std::filesystem::create_symlink(outside / "victim", directory / "web.stdout.0");
  REQUIRE(::mkfifo((directory / "web.stdout.1").c_str(), 0666) == 0);
  std::filesystem::create_hard_link(outside / "victim", directory / "web.stdout.2");
  std::filesystem::create_directory(directory / "web.stdout.3");
  LogWriter writer = make_writer(directory.path(), 10, 100);

  CHECK(writer.open() == 0);
  CHECK(writer.write("line\n") == 0);

  CHECK(read_text(outside / "victim") == "precious");
  CHECK(read_text(directory / "web.stdout.4") == "line\n");
}

TEST_CASE("log_writer: a task's own names do not steer where it goes on") {
  TempDir directory;
  for (const char* index : {"99999999999999", "18446744073709551615", "-1", "3x"})
    write_text(directory / (std::string{"web.stdout."} + index), "x");
  write_text(directory / "web.stdout.5", "");
  write_text(directory / "web.stdout.999999999", "");

  LogWriter writer = make_writer(directory.path(), 3, 4);
  REQUIRE(writer.open() == 0);
  for (int i = 0; i < 4; ++i)
    CHECK(writer.write("aaa\n") == 0);

  // Behind the largest number the first one follows.
  CHECK(writer.index() == 2);
  for (const char* index : {"5", "999999999", "1000000000"})
    CHECK_FALSE(std::filesystem::exists(directory / (std::string{"web.stdout."} + index)));
  CHECK(read_text(directory / "web.stdout.2") == "aaa\n");
  LogWriter next = make_writer(directory.path(), 3, 4);
  CHECK(next.open() == 0);
  CHECK(next.index() == 2);
}

TEST_CASE("log_writer: skips no file beyond the largest number") {
  TempDir directory;
  write_text(directory / "web.stdout.4", "old\n");
  std::filesystem::create_symlink("nowhere", directory / "web.stdout.999999999");

  LogWriter writer = make_writer(directory.path(), 3, 100);
  REQUIRE(writer.open() == 0);
  CHECK(writer.write("line\n") == 0);

  CHECK(files(directory) == std::vector<std::string>{"web.stdout.0"});
}

TEST_CASE("log_writer: a directory behind a link is refused") {
  TempDir root, outside;
  std::filesystem::create_directory(root / "alloc");
  std::filesystem::create_directory(outside / "logs");
  std::filesystem::create_directory_symlink(outside / "logs", root / "alloc/logs");

  CHECK_FALSE(open_log_directory(root.path()));
  CHECK(errno == ELOOP);
}

TEST_CASE("log_writer: comes back after an error") {
  TempDir directory;
  std::string inner = directory / "inner";
  std::filesystem::create_directory(inner);
  LogWriter writer = make_writer(inner, 10, 4);
  REQUIRE(writer.open() == 0);
  REQUIRE(writer.write("aaa\n") == 0);
  std::filesystem::remove_all(inner);

  CHECK(writer.write("bbb\n") == ENOENT);
  CHECK(writer.write("ccc\n") == ENOENT);
}

TEST_CASE("log_writer: never are there more bytes than files times their size") {
  TempDir directory;
  std::uintmax_t most = 0;
  for (int start = 0; start < 5; ++start) {
    LogWriter writer = make_writer(directory.path(), 3, 1000);
    REQUIRE(writer.open() == 0);
    for (int i = 0; i < 500; ++i) {
      REQUIRE(writer.write(std::string(37, 'x') + '\n') == 0);
      std::uintmax_t sum = 0;
      for (const auto& entry : std::filesystem::directory_iterator{directory.path()})
        sum += entry.file_size();
      most = std::max(most, sum);
    }
  }
  CHECK(most <= 3000);
  CHECK(most > 2800);

  LogWriter fewer = make_writer(directory.path(), 1, 1000);
  REQUIRE(fewer.open() == 0);
  CHECK_MESSAGE(files(directory).size() == 1, "without waiting for the next rotation");
}

TEST_CASE("log_writer: old files make room for the next one") {
  TempDir directory;
  if (::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=32k,nr_inodes=4") != 0) {
    MESSAGE("skipped: needs the right to mount");
    return;
  }
  {
    // With its root and two logs one inode is left: three files at a time can't be.
    LogWriter writer = make_writer(directory.path(), 2, 100);
    REQUIRE(writer.open() == 0);
    write_text(directory / "theirs", "x");
    for (int i = 0; i < 20; ++i)
      CHECK(writer.write(std::string(79, 'x') + '\n') == 0);
    CHECK(writer.index() == 19);
  }
  ::umount2(directory.path().c_str(), MNT_DETACH);
}
