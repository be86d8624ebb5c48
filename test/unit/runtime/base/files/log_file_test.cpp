// Log files rotate by size and age, and no more are kept than wanted.
#include "runtime/base/files/log_file.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using log::LogFile;

namespace {

constexpr std::int64_t begin = 2'000'000'000'000'000'000;  // later than any file of the test

std::string content(const std::filesystem::path& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::vector<std::string> names(const std::filesystem::path& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator{folder})
    out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("log_file: a path that ends in a slash is a folder, which is made") {
  const test::TempDir dir;
  auto file = LogFile::open(dir.path() + "/a/b/", {}, begin);
  REQUIRE(file.has_value());
  REQUIRE(file->append("one", begin).has_value());
  REQUIRE(file->append("two", begin).has_value());
  CHECK(content(dir.path() + "/a/b/nomad.log") == "one\ntwo\n");
  CHECK(LogFile::open("/proc/none/", {}, begin).error().what.starts_with("log_file \"/proc/none/"));
}

TEST_CASE("log_file: a full file is renamed, and the oldest go") {
  const test::TempDir dir;
  auto file
      = LogFile::open(dir.path() + "/agent.log", {.bytes = 8, .age = 1h, .max_files = 2}, begin);
  REQUIRE(file.has_value());
  for (int i = 0; i < 8; ++i)
    REQUIRE(file->append("l " + std::to_string(i), begin + i).has_value());
  const auto stem = "agent-" + std::to_string(begin).substr(0, 18);
  CHECK(names(dir.path()) == std::vector<std::string>{stem + "4.log", stem + "6.log", "agent.log"});
  CHECK(content(dir.path() + "/" + stem + "6.log") == "l 4\nl 5\n");
  CHECK(content(dir.path() + "/agent.log") == "l 6\nl 7\n");
}

TEST_CASE("log_file: an old file is renamed, and an agent that starts anew goes on with its own") {
  const test::TempDir dir;
  const auto path = dir.path() + "/agent";
  const log::Rotation rotation{.bytes = 0, .age = 1h, .max_files = 0};
  const auto now
      = std::chrono::duration_cast<Nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
  REQUIRE(LogFile::open(path, rotation, now)->append("one", now).has_value());
  auto file = LogFile::open(path, rotation, now);
  REQUIRE(file.has_value());
  REQUIRE(file->append("two", now).has_value());
  CHECK(content(path) == "one\ntwo\n");
  const auto later = now + Nanoseconds{2h}.count();
  REQUIRE(file->append("three", later).has_value());
  CHECK(content(path) == "three\n");
  CHECK(content(dir.path() + "/agent-" + std::to_string(later) + ".log") == "one\ntwo\n");
}

TEST_CASE(
    "log_file: a file that cannot be renamed goes on, and is tried again when it is full anew") {
  const test::TempDir dir;
  const auto path = dir.file("agent.log");
  const auto in_the_way
      = [&](std::int64_t at) { return dir.file("agent-" + std::to_string(at) + ".log"); };
  std::filesystem::create_directories(in_the_way(begin + 2));
  auto file = LogFile::open(path, {.bytes = 8}, begin);
  REQUIRE(file.has_value());
  REQUIRE(file->append("one", begin).has_value());
  REQUIRE(file->append("two", begin + 1).has_value());
  const auto kept = file->append("three", begin + 2);
  REQUIRE(kept.has_error());
  CHECK(kept.error().what.find(in_the_way(begin + 2)) != std::string::npos);
  CHECK(file->append("four", begin + 3).has_value());
  CHECK(content(path) == "one\ntwo\nthree\nfour\n");
  CHECK(file->append("five", begin + 4).has_value());
  CHECK(content(path) == "five\n");
  CHECK(content(in_the_way(begin + 4)) == "one\ntwo\nthree\nfour\n");
}

TEST_CASE("log_file: a pipe is written to, and never renamed") {
  const test::TempDir dir;
  const auto path = dir.file("pipe");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const int pipe = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(pipe >= 0);
  auto file = LogFile::open(path, {.bytes = 1, .age = 1h}, begin);
  REQUIRE(file.has_value());
  CHECK(file->append("one", begin).has_value());
  CHECK(file->append("two", begin + Nanoseconds{2h}.count()).has_value());
  char read_back[64] = {};
  CHECK(read(pipe, read_back, sizeof read_back) == 8);
  CHECK(std::string{read_back} == "one\ntwo\n");
  CHECK(names(dir.path()) == std::vector<std::string>{"pipe"});
  close(pipe);
}
