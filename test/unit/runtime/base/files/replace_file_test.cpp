// A file that is replaced has its new content or the old one.
#include "runtime/base/files/replace_file.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/resource.h>
#include <sys/stat.h>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;

namespace {

std::string read(const std::string& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// No file of this process grows beyond `bytes`.
class SmallFiles {
public:
  explicit SmallFiles(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }

  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

private:
  rlimit before_{};
  void (*signal_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

}  // namespace

TEST_CASE("replace_file: the new content is there, for its owner alone") {
  const test::TempDir dir;
  const auto path = dir.file("kept");
  for (const auto durability : {Durability::of_process, Durability::of_disk}) {
    std::ofstream{path} << "a longer old content";
    REQUIRE(replace_file(path, "new", durability).has_value());
    CHECK(read(path) == "new");

    struct stat status {};

    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    CHECK_FALSE(std::filesystem::exists(path + ".new"));
  }
}

TEST_CASE("replace_file: where there is no room the old content stays, and nothing beside it") {
  const test::TempDir dir;
  const auto path = dir.file("kept");
  std::ofstream{path} << "old";
  {
    const SmallFiles limit{8};
    const auto outcome = replace_file(path, "more than eight bytes", Durability::of_process);
    CHECK(outcome.error().code == Errc::io);
    CHECK(outcome.error().what.find(path) != std::string::npos);
  }
  CHECK(read(path) == "old");
  CHECK_FALSE(std::filesystem::exists(path + ".new"));
}

TEST_CASE("disk_error: room that is missing is waited for, a limit of file sizes is not") {
  CHECK(disk_error("writing", ENOSPC).code == Errc::overloaded);
  CHECK(disk_error("writing", EDQUOT).code == Errc::overloaded);
  CHECK(disk_error("writing", EFBIG).code == Errc::io);
  CHECK(disk_error("writing", EIO).code == Errc::io);
}

TEST_CASE("replace_file: a link in its way is not followed") {
  const test::TempDir dir;
  const auto path = dir.file("kept");
  const auto other = dir.file("other");
  std::ofstream{other} << "of somebody";
  std::filesystem::create_symlink(other, path + ".new");
  CHECK(replace_file(path, "new", Durability::of_process).has_error());
  CHECK(read(other) == "of somebody");
}

TEST_CASE("replace_file: a directory that is not there is an error with its name") {
  const test::TempDir dir;
  const auto outcome = replace_file(dir.file("none/kept"), "new", Durability::of_disk);
  CHECK(outcome.error().code == Errc::io);
  CHECK(outcome.error().what.find(dir.file("none/kept")) != std::string::npos);
}
