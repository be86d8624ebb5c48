#include "runtime/host/alloc_dir.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;
namespace fs = std::filesystem;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat status {};

  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

/// A tmpfs of its own, wherever the test's directory is.
bool is_tmpfs(const std::string& path) {
  struct statfs filesystem {};

  struct stat status {};

  struct stat above {};

  return ::statfs(path.c_str(), &filesystem) == 0 && filesystem.f_type == TMPFS_MAGIC
         && ::stat(path.c_str(), &status) == 0 && ::stat((path + "/..").c_str(), &above) == 0
         && status.st_dev != above.st_dev;
}

// Whether this process may mount at all: root in a container often may not.
bool can_mount() {
  TempDir directory;
  if (::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, nullptr) != 0) return false;
  ::umount(directory.path().c_str());
  return true;
}

}  // namespace

TEST_CASE("alloc_dir: other users pass through, whatever the agent's umask is") {
  TempDir temp;
  AllocDir dir{temp / "allocs/id"};
  const auto before = ::umask(077);
  const auto built = dir.build();
  const auto task = dir.build_task("web");
  ::umask(before);
  REQUIRE_FALSE(built.has_error());
  REQUIRE_FALSE(task.has_error());
  CHECK(mode_of(dir.root()) == 0755);
  CHECK(mode_of(temp / "allocs") == 0755);
  CHECK((mode_of(dir.root() + "/web") & 0777U) == 0777);
  CHECK_FALSE(dir.destroy().has_error());  // Its secrets may be a mount.
}

TEST_CASE("alloc_dir: builds Nomad's layout, again and again") {
  TempDir temp;
  AllocDir dir{temp / "allocs/id"};
  CHECK_FALSE(dir.exists());
  for (int round = 0; round < 2; ++round) {
    REQUIRE_FALSE(dir.build().has_error());
    REQUIRE_FALSE(dir.build_task("web").has_error());

    CHECK(dir.exists());
    CHECK(mode_of(dir.root()) == 0755);
    for (const char* path : {"/alloc", "/alloc/data", "/alloc/logs", "/alloc/tmp", "/web/local"}) {
      CAPTURE(path);
      CHECK(mode_of(dir.root() + path) == 0777);
    }
    CHECK(mode_of(dir.task("web")) == (can_mount() ? 0777 : 01777));
    for (const char* path : {"/tmp", "/secrets"})
      CHECK(mode_of(dir.task("web") + path) == 01777);
    CHECK(mode_of(dir.task("web") + "/private") == 0700);
    // What a task wrote stays.
    write_text(dir.local("web") + "/kept", "x");
    write_text(dir.secrets("web") + "/token", "t");
  }
  CHECK(read_text(dir.secrets("web") + "/token") == "t");
  if (can_mount()) {
    CHECK(is_tmpfs(dir.secrets("web")));
    CHECK(is_tmpfs(dir.task("web") + "/private"));
  }

  CHECK_FALSE(dir.destroy().has_error());
  CHECK_FALSE(fs::exists(dir.root()));
  CHECK_FALSE(dir.destroy().has_error());
}

TEST_CASE("alloc_dir: a task can write as any user") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  TempDir temp;
  AllocDir dir{temp / "id"};
  REQUIRE_FALSE(dir.build().has_error());
  REQUIRE_FALSE(dir.build_task("web", false).has_error());

  struct stat status {};

  REQUIRE(::stat(dir.local("web").c_str(), &status) == 0);
  CHECK(status.st_uid == 65534);
  CHECK_FALSE(is_tmpfs(dir.secrets("web")));
}

TEST_CASE("alloc_dir: secrets are the task's user's, and nobody else gets to them") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  constexpr uid_t user = 4321;
  for (const bool tmpfs : {false, true}) {
    TempDir temp;
    AllocDir dir{temp / "id"};
    REQUIRE_FALSE(dir.build().has_error());
    REQUIRE_FALSE(dir.build_task("web", tmpfs, {.owner = {.user = user, .group = 77}}).has_error());
    const auto owner_of = [&dir](const char* path) {
      struct stat status {};
      REQUIRE(::stat((dir.task("web") + path).c_str(), &status) == 0);
      return std::pair{status.st_uid, status.st_gid};
    };

    CHECK(mode_of(dir.secrets("web")) == 0700);
    CHECK(owner_of("/secrets") == std::pair<uid_t, gid_t>{user, 77});
    CHECK(mode_of(dir.task("web") + "/private") == 0700);
    CHECK(owner_of("/private") == std::pair<uid_t, gid_t>{0, 0});
    // A plain directory must not be moved out of the way either.
    const bool is_mount = tmpfs && can_mount();
    CHECK(mode_of(dir.task("web")) == (is_mount ? 0777 : 01777));
    CHECK(owner_of("").first == (is_mount ? 65534 : 0));
    CHECK_FALSE(dir.destroy().has_error());
  }
}

TEST_CASE("alloc_dir: where the task's user is not known nobody takes away what is another's") {
  TempDir temp;
  AllocDir dir{temp / "id"};
  REQUIRE_FALSE(dir.build().has_error());
  REQUIRE_FALSE(dir.build_task("web", false).has_error());

  struct stat status {};

  REQUIRE(::stat(dir.secrets("web").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777U) == 01777);
  CHECK(status.st_uid == ::geteuid());
}

TEST_CASE("alloc_dir: those who have files among the secrets pass, and see no others") {
  TempDir temp;
  AllocDir dir{temp / "id"};
  REQUIRE_FALSE(dir.build().has_error());
  REQUIRE_FALSE(dir.build_task("web", false, {{::geteuid(), ::getegid()}, true}).has_error());
  CHECK(mode_of(dir.secrets("web")) == 0711);
}

TEST_CASE("alloc_dir: what a release before made gets the modes of this one, and keeps its files") {
  TempDir temp;
  AllocDir dir{temp / "id"};
  REQUIRE_FALSE(dir.build().has_error());
  for (const auto* path : {"/web", "/web/secrets", "/web/private"}) {
    fs::create_directory(dir.root() + path);
    REQUIRE(::chmod((dir.root() + path).c_str(), 0777) == 0);
  }
  write_text(dir.secrets("web") + "/token", "t");

  REQUIRE_FALSE(dir.build_task("web", false, {.owner = {.user = ::geteuid()}}).has_error());

  CHECK(mode_of(dir.secrets("web")) == 0700);
  CHECK(mode_of(dir.task("web") + "/private") == 0700);
  CHECK(read_text(dir.secrets("web") + "/token") == "t");
}

TEST_CASE("alloc_dir: names that would lead elsewhere are refused") {
  TempDir temp;
  AllocDir dir{temp / "id"};
  REQUIRE_FALSE(dir.build().has_error());
  for (std::string name :
       {std::string{""}, std::string{"."}, std::string{".."}, std::string{"alloc"},
        std::string{"a/b"}, std::string{"a\0b", 3}, std::string(256, 'x')})
    CHECK(dir.build_task(name).error().code == Errc::invalid_argument);
}

TEST_CASE("alloc_dir: links and files in the way are not followed") {
  TempDir temp, outside;
  AllocDir dir{temp / "id"};
  REQUIRE_FALSE(dir.build().has_error());
  fs::remove_all(dir.logs());
  fs::create_directory_symlink(outside.path(), dir.logs());
  mode_t before = mode_of(outside.path());

  CHECK(dir.build().error().code == Errc::conflict);

  CHECK(mode_of(outside.path()) == before);
  write_text(dir.root() + "/web", "a file");
  CHECK(dir.build_task("web").error().code == Errc::conflict);
}

TEST_CASE("alloc_dir: what cannot name a directory names no task") {
  TempDir temp;
  AllocDir dir{temp / "id"};
  REQUIRE_FALSE(dir.build().has_error());
  for (const std::string name : {"", ".", "..", "alloc", "a/b"})
    CHECK(dir.build_task(name).error()
          == Error{Errc::invalid_argument, "task name \"" + name + "\" cannot name a directory"});
}

TEST_CASE("alloc_dir: destroy follows no link and removes any depth") {
  TempDir temp, outside;
  write_text(outside / "precious", "x");
  AllocDir dir{temp / "id"};
  REQUIRE_FALSE(dir.build().has_error());
  REQUIRE_FALSE(dir.build_task("web").has_error());
  fs::create_directory_symlink(outside.path(), dir.local("web") + "/link");
  REQUIRE(::mkfifo((dir.local("web") + "/fifo").c_str(), 0666) == 0);
  // Deeper than descriptors, stack or PATH_MAX would allow for.
  int at = ::open(dir.local("web").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int depth = 0; depth < 3000; ++depth) {
    REQUIRE(::mkdirat(at, "nested", 0755) == 0);
    int next = ::openat(at, "nested", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(next >= 0);
    ::close(at);
    at = next;
  }
  ::close(at);

  auto destroyed = dir.destroy();

  REQUIRE_MESSAGE(!destroyed.has_error(), destroyed.error().what);
  CHECK_FALSE(fs::exists(dir.root()));
  CHECK(read_text(outside / "precious") == "x");
}

TEST_CASE("alloc_dir: destroy unmounts its own mounts, and stops before foreign ones") {
  if (!can_mount()) {
    MESSAGE("skipped: needs the right to mount");
    return;
  }
  TempDir temp;
  AllocDir dir{temp / "id"};
  REQUIRE_FALSE(dir.build().has_error());
  REQUIRE_FALSE(dir.build_task("web").has_error());
  std::string foreign = dir.local("web") + "/volume";
  fs::create_directory(foreign);
  REQUIRE(::mount("tmpfs", foreign.c_str(), "tmpfs", 0, nullptr) == 0);
  write_text(foreign + "/precious", "x");

  auto refused = dir.destroy();

  REQUIRE(refused.has_error());
  CHECK(refused.error().code == Errc::conflict);
  CHECK(refused.error().what.find("removing volume: something is mounted on it")
        != std::string::npos);
  CHECK(read_text(foreign + "/precious") == "x");
  ::umount(foreign.c_str());
  CHECK_FALSE(dir.destroy().has_error());
}

TEST_CASE("alloc_dir: secrets are forgotten before the rest goes, and are in no file then") {
  if (!can_mount()) {
    MESSAGE("skipped: needs the right to mount");
    return;
  }
  TempDir temp;
  AllocDir dir{temp / "id"};
  CHECK_FALSE(dir.forget_secrets().has_error());  // there is nothing yet
  REQUIRE_FALSE(dir.build().has_error());
  REQUIRE_FALSE(dir.build_task("web").has_error());
  for (const auto& place : {dir.secrets("web"), dir.task("web") + "/private", dir.local("web")})
    write_text(place + "/token", "x");

  CHECK_FALSE(dir.forget_secrets().has_error());
  CHECK(fs::is_empty(dir.secrets("web")));
  CHECK(fs::is_empty(dir.task("web") + "/private"));
  CHECK(read_text(dir.local("web") + "/token") == "x");
  CHECK_FALSE(dir.forget_secrets().has_error());
  CHECK_FALSE(dir.destroy().has_error());
}

TEST_CASE("alloc_dir: a directory of more names than are held at a time goes") {
  TempDir temp;
  AllocDir dir{temp / "id"};
  REQUIRE_FALSE(dir.build().has_error());
  REQUIRE_FALSE(dir.build_task("web").has_error());
  for (int i = 0; i < 10'100; ++i)
    write_text(dir.local("web") + "/n" + std::to_string(i), "");

  CHECK_FALSE(dir.destroy().has_error());
  CHECK_FALSE(fs::exists(dir.root()));
}

TEST_CASE("alloc_dir: what can't be removed keeps nothing else") {
  TempDir temp;
  AllocDir dir{temp / "id"};
  REQUIRE_FALSE(dir.build().has_error());
  const std::string kept = dir.root() + "/alloc/data/kept";
  fs::create_directory(kept);
  if (::mount("tmpfs", kept.c_str(), "tmpfs", 0, "size=64k") != 0) return;  // not allowed here
  for (const std::string folder : {"/alloc/data/n", "/alloc/logs/n", "/alloc/tmp/n"})
    for (int i = 0; i < 10'100; ++i)
      fs::create_symlink("x", dir.root() + folder + std::to_string(i));

  CHECK(dir.destroy().error().code == Errc::conflict);
  CHECK(std::distance(fs::directory_iterator{dir.root() + "/alloc/data"}, {}) == 1);
  CHECK(std::distance(fs::directory_iterator{dir.root() + "/alloc"}, {}) == 1);
  REQUIRE(::umount(kept.c_str()) == 0);
  CHECK_FALSE(dir.destroy().has_error());
}
