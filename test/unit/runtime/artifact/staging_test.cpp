#include "runtime/artifact/staging.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::artifact;
namespace fs = std::filesystem;

namespace {

std::string read_text(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream{file}.rdbuf();
  return std::move(text).str();
}

/// An allocation's directory with a task's, and a staging directory.
struct StagedTask : test::TempDir {
  StagedTask() {
    fs::create_directories(file("task/local"));
    fs::create_directories(file("alloc"));
    REQUIRE(staging.begin("k", 12345, 12345));
  }

  std::string out(const std::string& name = "") const {
    return staging.path("k") + "/out" + (name.empty() ? "" : "/" + name);
  }

  void put(const std::string& name, const std::string& content = "new") const {
    fs::create_directories(fs::path{out(name)}.parent_path());
    std::ofstream{out(name)} << content;
    if (::geteuid() == 0) REQUIRE(::chown(out(name).c_str(), 12345, 12345) == 0);
  }

  Result<> deliver(const std::string& to,
                   bool is_file = false,
                   const host::FileOwner& owner = {}) const {
    return staging.deliver("k", {file("task"), to}, is_file, owner);
  }

  Staging staging{path(), "task"};
};

}  // namespace

TEST_CASE("staging: a tree is united with what is there, and becomes the agent's") {
  const StagedTask location;
  location.put("f");
  location.put("d/g");
  location.put("d/e/h");
  fs::create_symlink("../f", location.out("d/link"));
  fs::create_directories(location.file("task/local/d"));
  std::ofstream{location.file("task/local/f")} << "old";
  std::ofstream{location.file("task/local/d/kept")} << "kept";
  ::chmod(location.out("d/g").c_str(), 06755);
  REQUIRE(location.deliver("local"));
  CHECK(read_text(location.file("task/local/f")) == "new");
  CHECK(read_text(location.file("task/local/d/g")) == "new");
  CHECK(read_text(location.file("task/local/d/e/h")) == "new");
  CHECK(read_text(location.file("task/local/d/kept")) == "kept");
  CHECK(fs::read_symlink(location.file("task/local/d/link")) == "../f");

  struct stat status {};

  REQUIRE(::stat(location.file("task/local/d/g").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777U) == 0755);
  CHECK(status.st_uid == ::geteuid());
}

TEST_CASE("staging: what comes may be another one's, with the directory that it comes to") {
  if (::geteuid() != 0) return;  // Nobody else can give files away.
  const StagedTask location;
  location.put("d/e/f");
  fs::create_symlink("e/f", location.out("d/link"));
  fs::create_directories(location.file("task/local/to/d"));
  std::ofstream{location.file("task/local/to/kept")} << "kept";
  REQUIRE(location.deliver("local/to", false, {.user = 1234, .group = 2345}));
  const auto owner = [&](const std::string& name) {
    struct stat status {};

    REQUIRE(::lstat(location.file("task/local" + name).c_str(), &status) == 0);
    return std::pair{status.st_uid, status.st_gid};
  };
  const auto others = std::pair<uid_t, gid_t>{1234, 2345};
  for (const auto* name : {"/to", "/to/d", "/to/d/e", "/to/d/e/f", "/to/d/link"})
    CHECK(owner(name) == others);
  const auto own = std::pair<uid_t, gid_t>{0, 0};
  for (const auto* name : {"", "/to/kept"})
    CHECK(owner(name) == own);

  const StagedTask file;
  std::ofstream{file.out()} << "new";
  REQUIRE(file.deliver("local/a/b", true, {.user = 1234, .group = 2345}));

  struct stat status {};

  REQUIRE(::stat(file.file("task/local/a/b").c_str(), &status) == 0);
  CHECK(status.st_uid == 1234);
}

TEST_CASE("staging: a file comes at its place, with the directories above it") {
  const StagedTask location;
  std::ofstream{location.out()} << "new";
  REQUIRE(location.deliver("local/a/b", true));
  CHECK(read_text(location.file("task/local/a/b")) == "new");
  std::ofstream{location.out()} << "newer";
  REQUIRE(location.deliver("local/a/b", true));
  CHECK(read_text(location.file("task/local/a/b")) == "newer");
  std::ofstream{location.out()} << "x";
  CHECK(location.deliver("local/a", true).error()
        == Error{Errc::conflict, "\"local/a\" is a file and something else where it is to come"});
  CHECK(location.deliver("", true).error()
        == Error{Errc::conflict, "the destination is a directory, and mode is \"file\""});
  CHECK(location.deliver("local", false).error()
        == Error{Errc::rejected, "what was fetched is no directory"});
}

TEST_CASE("staging: what must not come is refused before anything is moved") {
  const auto refused = [](const auto& make) {
    const StagedTask location;
    location.put("a");
    make(location);
    const auto outcome = location.deliver("local");
    CHECK(!outcome);
    CHECK(!fs::exists(location.file("task/local/a")));
    return !outcome && outcome.error().code == Errc::rejected;
  };
  CHECK(refused([](const StagedTask& p) { fs::create_symlink("/etc/passwd", p.out("z")); }));
  CHECK(refused([](const StagedTask& p) { fs::create_symlink("..", p.out("z")); }));
  CHECK(refused([](const StagedTask& p) {
    fs::create_directory(p.out("z"));
    fs::create_symlink("../../x", p.out("z/l"));
  }));
  CHECK(refused([](const StagedTask& p) { ::mkfifo(p.out("z").c_str(), 0600); }));
  CHECK(refused([](const StagedTask& p) {
    std::string deep = p.out();
    for (int i = 0; i < 260; ++i) {
      deep += "/d";
      fs::create_directory(deep);
    }
  }));
  const StagedTask too_deep;
  too_deep.put("a");
  std::string deep = too_deep.out();
  std::string shown;
  for (int i = 0; i < 260; ++i) {
    deep += "/d";
    fs::create_directory(deep);
    if (i < 257) shown += i == 0 ? "d" : "/d";
  }
  CHECK(too_deep.deliver("local").error().what
        == "what was fetched has \"" + shown + "\", which lies too deep");
  const StagedTask location;
  fs::create_symlink("/etc/passwd", location.out());
  CHECK(location.deliver("local/x", true).error().what == "what was fetched is no file");
  CHECK(!location.deliver("local"));
}

TEST_CASE("staging: no link of the task leads the delivery out") {
  const StagedTask location;
  location.put("d/f");
  const test::TempDir elsewhere;
  fs::create_symlink(elsewhere.path(), location.file("task/local/d"));
  CHECK(location.deliver("local").error().code == Errc::conflict);
  fs::create_symlink(elsewhere.path(), location.file("task/out"));
  CHECK(!location.deliver("out"));
  CHECK(!location.deliver("out/x"));
  CHECK(fs::is_empty(elsewhere.path()));
}

TEST_CASE("staging: what was done is remembered until the task's is cleared") {
  const StagedTask location;
  CHECK(!location.staging.is_done("k"));
  location.staging.mark_done("k");
  CHECK(location.staging.is_done("k"));
  location.put("f");
  REQUIRE(location.staging.begin("k", ::geteuid(), ::getegid()));
  CHECK(fs::is_empty(location.staging.path("k")));
  REQUIRE(location.staging.discard("k"));
  CHECK(!fs::exists(location.staging.path("k")));
  REQUIRE(location.staging.clear());
  CHECK(!fs::exists(location.file(".artifacts")));
  REQUIRE(location.staging.clear());
}
