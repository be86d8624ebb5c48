#include "runtime/host/task/task_socket.hpp"

#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "test/unit/runtime/host/temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;
namespace fs = std::filesystem;

namespace {

struct TaskFolder {
  TaskFolder() { fs::create_directories(directory.path() + "/web/secrets"); }

  Result<TaskSocket> listen(const FileOwner& owner = {.user = ::geteuid()}) {
    return listen_for_task(*Beneath::open(directory.path(), false), "web/secrets", "api.sock",
                           owner);
  }

  std::string path() const { return directory.path() + "/web/secrets/api.sock"; }

  struct stat status() const {
    struct stat found {};

    REQUIRE(::lstat(path().c_str(), &found) == 0);
    return found;
  }

  bool answers() const {
    const UniqueFd folder{::open((directory.path() + "/web/secrets").c_str(), O_PATH)};
    const UniqueFd peer{::socket(AF_UNIX, SOCK_STREAM, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto name = "/proc/self/fd/" + std::to_string(folder.get()) + "/api.sock";
    std::memcpy(address.sun_path, name.c_str(), name.size());
    return ::connect(peer.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  TempDir directory;
};

}  // namespace

TEST_CASE("task_socket: the owner alone may connect; without one, who may enter the directory") {
  TaskFolder folder;
  const auto own = folder.listen();
  REQUIRE(own.has_value());
  CHECK(S_ISSOCK(folder.status().st_mode));
  CHECK((folder.status().st_mode & 07777) == owner_only);
  CHECK(folder.status().st_ino == own->inode);
  CHECK(folder.answers());

  const auto anybodys = folder.listen(FileOwner{});  // in place of the one that is there
  REQUIRE(anybodys.has_value());
  CHECK((folder.status().st_mode & 07777) == for_everybody);
  CHECK(anybodys->inode != own->inode);
}

TEST_CASE("task_socket: a socket that a killed agent left is replaced") {
  TaskFolder folder;
  folder.listen()->listening.reset();
  CHECK_FALSE(folder.answers());
  const auto again = folder.listen();
  CHECK(folder.answers());
}

TEST_CASE("task_socket: what the task has put in its place is not followed") {
  TaskFolder folder;
  const auto victim = folder.directory.path() + "/victim";
  write_text(victim, "as it was");
  ::chmod(victim.c_str(), 0640);
  for (const auto* name : {"api.sock", ".api.sock.new"})
    fs::create_symlink(victim, folder.directory.path() + "/web/secrets/" + name);
  const auto made = folder.listen();
  REQUIRE(made.has_value());
  CHECK(S_ISSOCK(folder.status().st_mode));

  struct stat untouched {};

  REQUIRE(::stat(victim.c_str(), &untouched) == 0);
  CHECK(S_ISREG(untouched.st_mode));
  CHECK((untouched.st_mode & 0777) == 0640);
}

TEST_CASE("task_socket: a directory in its place goes, with nothing that its links lead to") {
  TaskFolder folder;
  const auto victim = folder.directory.path() + "/victim";
  fs::create_directories(victim + "/kept");
  for (const auto* name : {"api.sock", ".api.sock.new"}) {
    const auto path = folder.directory.path() + "/web/secrets/" + name;
    fs::create_directories(path + "/full");
    fs::create_directory_symlink(victim, path + "/link");
  }
  REQUIRE(folder.listen().has_value());
  CHECK(S_ISSOCK(folder.status().st_mode));
  CHECK_FALSE(fs::exists(folder.directory.path() + "/web/secrets/.api.sock.new"));
  CHECK(fs::is_directory(victim + "/kept"));
}

TEST_CASE("task_socket: no place for it is an error") {
  TaskFolder folder;
  fs::remove_all(folder.directory.path() + "/web");
  CHECK_FALSE(folder.listen().has_value());
}

TEST_CASE("task_socket: paths longer than an address are no hindrance") {
  TaskFolder folder;
  const auto deep = "web/" + std::string(200, 'd');
  fs::create_directories(folder.directory.path() + '/' + deep);
  const auto root = Beneath::open(folder.directory.path(), false);
  CHECK(listen_for_task(*root, deep, "api.sock", {}).has_value());
  CHECK_FALSE(listen_for_task(*root, deep, std::string(90, 'n'), {}).has_value());
}

TEST_CASE("task_socket: it is told apart from another one of the same name, and removed") {
  TaskFolder folder;
  const auto root = Beneath::open(folder.directory.path(), false);
  const auto first = folder.listen();
  CHECK(is_at(*root, "web/secrets", "api.sock", first->inode));
  const auto second = folder.listen();
  CHECK_FALSE(is_at(*root, "web/secrets", "api.sock", first->inode));
  CHECK(remove_from_task(*root, "web/secrets", "api.sock").has_value());
  CHECK_FALSE(is_at(*root, "web/secrets", "api.sock", second->inode));
  CHECK(remove_from_task(*root, "web/secrets", "api.sock").has_value());
  CHECK(remove_from_task(*root, "gone/secrets", "api.sock").has_value());
}
