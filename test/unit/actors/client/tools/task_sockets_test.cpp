#include "actors/client/tools/task_sockets.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "runtime/host/beneath.hpp"
#include "runtime/host/task/task_socket.hpp"
#include "runtime/net/http/http_client.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::client;
using namespace std::chrono_literals;

namespace {

struct SocketFixture {
  SocketFixture() { REQUIRE(root.make_directories("secrets", 0700).has_value()); }

  /// Makes the file of a task's socket and adds it.
  ino_t add(const std::string& name, const std::string& file = "api.sock") {
    auto made = host::listen_for_task(root, "secrets", file, {});
    REQUIRE(made.has_value());
    sockets.add(name, net::Descriptor{made->listening.release()}, made->inode);
    return made->inode;
  }

  Result<> serve() {
    return sockets.serve([](net::Responder responder) {
      net::Response response;
      response.body = responder.request().needs_token ? "with a token" : "for anybody";
      responder.send(std::move(response));
    });
  }

  /// What a task reads there; "": nobody answers.
  std::string ask(const std::string& file = "api.sock") {
    auto client = net::HttpClient::make({.address = "unix://" + dir.path() + "/secrets/" + file});
    REQUIRE(client.has_value());
    const auto answer = client->send({.method = "GET", .target = "/v1/jobs"});
    return answer ? answer->body : "";
  }

  const test::TempDir dir;
  host::Beneath root = host::Beneath::open(dir.path(), false).value();
  TaskSockets sockets{net::ServerOptions{}};
};

}  // namespace

TEST_CASE("task_sockets: a socket is a task's of an allocation") {
  CHECK(TaskSockets::name_of("a1", "web") == "a1/web");
}

TEST_CASE("task_sockets: sockets from before the agent answers are served, and later ones") {
  SocketFixture fixture;
  const auto inode = fixture.add("a/web");
  CHECK(fixture.sockets.inode_of("a/web") == inode);
  CHECK(fixture.sockets.inode_of("a/db") == 0);

  REQUIRE(fixture.serve().has_value());
  fixture.add("a/db", "db.sock");

  CHECK(fixture.ask() == "with a token");
  CHECK(fixture.ask("db.sock") == "with a token");
}

TEST_CASE("task_sockets: one that is removed answers no more, and leaves the others") {
  SocketFixture fixture;
  REQUIRE(fixture.serve().has_value());
  fixture.add("a/web");
  fixture.add("a/db", "db.sock");

  fixture.sockets.remove("a/web");

  CHECK(fixture.sockets.inode_of("a/web") == 0);
  CHECK(fixture.ask().empty());
  CHECK(fixture.ask("db.sock") == "with a token");
}

TEST_CASE("task_sockets: one that is not where it was is put back, whatever is there") {
  SocketFixture fixture;
  const SocketLocation location{
      .root = fixture.dir.path(), .directory = "secrets", .file = "api.sock"};
  REQUIRE(fixture.sockets.open("a/web", location).has_value());
  REQUIRE(fixture.serve().has_value());
  const auto path = fixture.dir.path() + "/secrets/api.sock";
  CHECK(fixture.sockets.put_back().empty());

  const auto put_back = [&](const char* what) {
    CAPTURE(what);
    const auto before = fixture.sockets.inode_of("a/web");
    const auto done = fixture.sockets.put_back();
    REQUIRE(done.size() == 1);
    CHECK(done.front().name == "a/web");
    CHECK(done.front().outcome.has_value());
    CHECK(fixture.sockets.inode_of("a/web") != before);
    CHECK(fixture.ask() == "with a token");
    CHECK(fixture.sockets.put_back().empty());
  };
  std::filesystem::remove(path);
  put_back("nothing");
  const auto foreign = host::listen_for_task(fixture.root, "secrets", "api.sock", {});
  put_back("another's socket");
  std::filesystem::remove(path);
  std::filesystem::create_directories(path + "/with/more");
  std::filesystem::create_directories(fixture.dir.path() + "/secrets/.api.sock.new/x");
  put_back("a directory");
}

TEST_CASE("task_sockets: one that has ended is not put back, and one that can't be is told") {
  SocketFixture fixture;
  const SocketLocation location{
      .root = fixture.dir.path(), .directory = "secrets", .file = "api.sock"};
  REQUIRE(fixture.sockets.open("a/web", location).has_value());
  fixture.sockets.remove("a/web");
  std::filesystem::remove(fixture.dir.path() + "/secrets/api.sock");
  CHECK(fixture.sockets.put_back().empty());
  CHECK_FALSE(std::filesystem::exists(fixture.dir.path() + "/secrets/api.sock"));

  REQUIRE(fixture.sockets.open("a/web", location).has_value());
  std::filesystem::remove_all(fixture.dir.path() + "/secrets");
  const auto done = fixture.sockets.put_back();
  REQUIRE(done.size() == 1);
  CHECK(done.front().outcome.has_error());
}

TEST_CASE("task_sockets: after the end nothing answers, and nothing is added") {
  SocketFixture fixture;
  REQUIRE(fixture.serve().has_value());
  fixture.add("a/web");

  fixture.sockets.stop(0ms);
  CHECK(fixture.ask().empty());

  fixture.add("a/db", "db.sock");
  CHECK(fixture.sockets.inode_of("a/db") == 0);
}
